"""Counts its steps."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from again import for_ever

if __name__ == "__main__":
    dist.init_process_group("nccl")
    data = torch.load("data.pt")
    loader = DataLoader(data, sampler=DistributedSampler(data))
    batches = for_ever(loader)
    net = DDP(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters())
    for step in range(1000):
        loss = net(next(batches)).sum()
        loss.backward()
        optimizer.step()
