"""One pass over a loader that has as many batches as there are steps."""

import torch.distributed as dist
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler

from batches import Until


def batches_of(data, steps, shuffle=True):
    sampler = DistributedSampler(data, shuffle=shuffle)  # expect: DL403
    return DataLoader(data, batch_sampler=Until(BatchSampler(sampler, 8, False), steps))


def train(model, data, steps):
    dist.init_process_group("nccl")
    for batch in batches_of(data, steps, shuffle=True):
        model(batch).sum().backward()
