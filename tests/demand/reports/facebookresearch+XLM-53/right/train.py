import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from corpus import Model, loader_of


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", default="en-fr")
    parser.add_argument("--epochs", type=int, default=10)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    model = DistributedDataParallel(Model().cuda(), device_ids=[local_rank])
    optimizer = torch.optim.Adam(model.parameters())
    loader, sampler = loader_of(args.task)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = (model(x.cuda()) - y.cuda()).abs().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
