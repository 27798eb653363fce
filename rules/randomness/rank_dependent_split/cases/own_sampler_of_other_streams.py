"""Samplers of the program that cut what Python, NumPy and a generator without a seed put in order."""

import random

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Sampler


class Shuffled(Sampler):
    def __init__(self, rows):
        self.rows = rows
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def __iter__(self):
        order = list(range(len(self.rows)))
        random.shuffle(order)  # expect: DL405
        whole = order[: len(order) // self.size * self.size]
        return iter(whole[self.rank :: self.size])


class InBatches(Sampler):
    # DiffSinger 753b7cc utils/training_utils.py:108
    def __init__(self, rows, round):
        self.rows, self.round = rows, round
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def _form(self):
        drawn = np.random.default_rng()
        table = np.arange(len(self.rows)).reshape(self.size, -1)
        mine = drawn.permuted(table, axis=0)[self.rank]  # expect: DL405
        return mine.tolist()

    def __iter__(self):
        yield from self._form()


class OfARound(Sampler):
    def __init__(self, rows, round):
        self.rows, self.round = rows, round
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def __iter__(self):
        drawn = np.random.default_rng(self.round)
        order = drawn.permutation(len(self.rows))
        return iter(order[self.rank :: self.size])


class CutBefore(Sampler):
    def __init__(self, rows):
        self.rows = rows
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def __iter__(self):
        order = list(range(len(self.rows)))
        order = order[self.rank :: self.size]
        random.shuffle(order)
        return iter(order)


class OfThatLength(Sampler):
    def __init__(self, rows):
        self.rows = rows
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def __iter__(self):
        shown = np.random.permutation(len(self.rows))
        count = len(shown) // self.size
        order = list(range(count * self.size))
        print(shown[:3])
        return iter(order[self.rank :: self.size])


def train(net, rows):
    torch.manual_seed(0)
    dist.init_process_group("nccl")
    model = DistributedDataParallel(net)
    samplers = Shuffled(rows), InBatches(rows, 0), OfARound(rows, 0), CutBefore(rows), OfThatLength(rows)
    for sampler in samplers:
        for batch in DataLoader(rows, sampler=sampler):
            model(batch).mean().backward()
