"""The same samplers in a program that seeds torch alike on all ranks."""

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Sampler


class InTurns(Sampler):
    def __init__(self, rows, batch):
        self.rows, self.batch = rows, batch
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.round = 0

    def __iter__(self):
        order = torch.randperm(len(self.rows)).tolist()
        order += order[: -len(order) % self.size]
        yield from order[self.rank :: self.size]


class InBlocks(Sampler):
    def __init__(self, rows):
        self.rows = rows
        self.round = 0

    def __iter__(self):
        drawn = torch.Generator()
        drawn.manual_seed(self.round)
        order = list(torch.randperm(len(self.rows)))
        count = len(order) // dist.get_world_size()
        first = count * dist.get_rank()
        return iter(order[first : first + count])


class ByAGenerator(Sampler):
    def __init__(self, rows):
        self.rows = rows
        self.round = 0

    def __iter__(self):
        drawn = torch.Generator()
        drawn.manual_seed(self.round)
        order = torch.randperm(len(self.rows), generator=drawn).tolist()
        return iter(order[dist.get_rank() :: dist.get_world_size()])


class OfItsOwnPart(Sampler):
    def __init__(self, rows):
        self.part = list(range(len(rows)))[dist.get_rank() :: dist.get_world_size()]

    def __iter__(self):
        order = torch.randperm(len(self.part)).tolist()
        order = order[: len(order) // 2]
        return iter([self.part[place] for place in order])


class Unused(Sampler):
    def __iter__(self):
        order = torch.randperm(self.total).tolist()
        return iter(order[self.rank :: self.size])


def begin(worker):
    np.random.seed(worker)


def train(net, rows):
    torch.manual_seed(0)
    dist.init_process_group("nccl")
    model = DistributedDataParallel(net)
    for sampler in (InTurns(rows, 2), InBlocks(rows), ByAGenerator(rows), OfItsOwnPart(rows)):
        for batch in DataLoader(rows, sampler=sampler, worker_init_fn=begin):
            model(batch).mean().backward()
