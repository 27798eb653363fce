"""Makes a loader for the ranks."""

from torch.utils.data import DataLoader, DistributedSampler


def loader_for(data, ranks, rank):
    sampler = DistributedSampler(data, ranks, rank)
    return DataLoader(data, sampler=sampler)
