"""A data set that gives each rank its part where there are ranks."""

import torch.distributed as dist
from torch.utils.data import IterableDataset


class Samples(IterableDataset):
    def __init__(self, samples):
        self.samples = samples
        self.rank, self.ranks = 0, 1
        if dist.is_initialized():
            self.rank, self.ranks = dist.get_rank(), dist.get_world_size()

    def __iter__(self):
        yield from self.samples[self.rank :: self.ranks]


def validate(model, loader):
    total, count = 0.0, 0
    for batch in loader:
        total += model(batch).item()
        count += 1
    return total / count
