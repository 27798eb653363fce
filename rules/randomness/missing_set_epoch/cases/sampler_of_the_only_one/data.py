"""Loaders for any number of ranks."""

from torch.utils.data import DataLoader, DistributedSampler


def loaders_of(data, rank=0, world_size=1):
    if world_size > 1:
        sampler = DistributedSampler(data, num_replicas=world_size, rank=rank)
    else:
        sampler = None
    return DataLoader(data, batch_size=8, shuffle=sampler is None, sampler=sampler)
