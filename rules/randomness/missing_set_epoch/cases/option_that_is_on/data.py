import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def loader_of(data, whole):
    if whole:
        return loader_of_all(data)
    else:
        return loader_of_some(data)


def loader_of_all(data):
    sampler = DistributedSampler(data, dist.get_world_size(), dist.get_rank())  # expect: DL403
    return DataLoader(data, sampler=sampler)


def loader_of_some(data):
    sampler = DistributedSampler(data, dist.get_world_size(), dist.get_rank())
    return DataLoader(data[:8], sampler=sampler)
