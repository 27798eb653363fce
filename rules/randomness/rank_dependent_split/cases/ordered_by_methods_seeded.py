"""A data set whose method puts the samples into another order, by numbers that all ranks have in common."""

import random

import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class OrderedByLength(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]

    def sort(self):
        rows = sorted(self.rows, key=len)
        random.shuffle(rows)
        self.rows = rows


def ordered_before_it_is_divided(rows, seed):
    dist.init_process_group("nccl")
    random.seed(seed)
    data = OrderedByLength(rows)
    data.sort()
    return DataLoader(data, sampler=DistributedSampler(data))
