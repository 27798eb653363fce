import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from data import pairs


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(32, 64), nn.ReLU())
        self.head = nn.Linear(64, 8)
        self.projection = nn.Linear(64, 16)

    def forward(self, x):
        return self.head(self.backbone(x))


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader, sampler = pairs(dist.get_rank(), dist.get_world_size())
    for epoch in range(5):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def main():
    dist.init_process_group("nccl")
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    torch.manual_seed(0)
    model = DDP(Net().to(device), device_ids=[device], find_unused_parameters=True)
    train(model, device)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
