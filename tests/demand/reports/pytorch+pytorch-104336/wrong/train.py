import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from data import batches
from eval_tool import evaluate_on_cpu


def train_epoch(model, optimizer, device, epoch):
    for x, y in batches(dist.get_rank(), epoch):
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    dist.init_process_group("nccl")
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    model = DDP(nn.Linear(100, 10).to(device), device_ids=[device])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(10):
        train_epoch(model, optimizer, device, epoch)
        model.cpu()
        evaluate_on_cpu(model.module)
        model.cuda(device)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
