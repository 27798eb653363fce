"""A function inside of the one with the loop tells the sampler."""

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def worker(model, data, epochs):
    # ResNeSt 1dfb3e8 scripts/torch/train.py:196
    dist.init_process_group("nccl")
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler)

    def train(epoch):
        sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).sum().backward()

    for epoch in range(epochs):
        train(epoch)
