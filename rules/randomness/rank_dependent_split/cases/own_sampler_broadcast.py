"""Samplers of the program that cut one permutation, which rank 0 has drawn for all."""

import random

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Sampler


def agreed(order):
    sent = [order]
    dist.broadcast_object_list(sent, src=0)
    return sent[0]


class AsATensor(Sampler):
    def __iter__(self):
        order = torch.randperm(self.total, device="cuda")
        dist.broadcast(order, 0)
        yield from order[dist.get_rank() :: dist.get_world_size()].tolist()


class AsAnObject(Sampler):
    def __iter__(self):
        order = list(range(self.total))
        random.shuffle(order)
        sent = [order]
        dist.broadcast_object_list(sent, src=0)
        order = sent[0]
        yield from order[dist.get_rank() :: dist.get_world_size()]


class ByAHelper(Sampler):
    def __iter__(self):
        order = torch.randperm(self.total).tolist()
        order = agreed(order)
        yield from order[dist.get_rank() :: dist.get_world_size()]


class OfAnother(Sampler):
    def __iter__(self):
        order = torch.randperm(self.total).tolist()  # expect: DL405
        weights = torch.ones(self.total)
        dist.broadcast(weights, 0)
        yield from order[dist.get_rank() :: dist.get_world_size()]


def train(net, rows):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(net)
    for sampler in (AsATensor(rows), AsAnObject(rows), ByAHelper(rows), OfAnother(rows)):
        for batch in DataLoader(rows, sampler=sampler):
            model(batch).mean().backward()
