"""Data sets whose methods put the samples into another order, in a program that seeds nothing."""

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

    def sort(self, size):
        rows = sorted(self.rows, key=len)
        for first in range(0, len(rows), size):
            group = rows[first : first + size]
            random.shuffle(group)  # expect: DL405
            rows[first : first + size] = group
        self.rows = rows


def ordered_before_it_is_divided(rows):
    dist.init_process_group("nccl")
    data = OrderedByLength(rows)
    data.sort(64)
    return DataLoader(data, sampler=DistributedSampler(data))


class Mixed(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.order = list(range(len(rows)))
        self.mix()

    def __getitem__(self, index):
        return self.rows[self.order[index]]

    def mix(self):
        random.shuffle(self.order)  # expect: DL405


class Paired(Dataset):
    """The partner of each sample is another one on each rank, and the samples are divided."""

    def __init__(self, rows):
        self.rows = rows
        self.partners = list(range(len(rows)))
        self.mix()

    def __getitem__(self, index):
        return self.load(index), self.load(self.partners[index])

    def load(self, index):
        return self.rows[index]

    def mix(self):
        random.shuffle(self.partners)


class Augmented(Dataset):
    """Each sample is drawn anew, and nobody calls what orders all of them."""

    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        words = list(self.rows[index])
        random.shuffle(words)
        return words

    def reorder(self):
        random.shuffle(self.rows)
