"""Rank 0 builds the arrays while the others wait; then all read them."""

import json
import os
import sys

import torch
import torch.distributed as dist
from data import Arrays
from torch.nn.parallel import DistributedDataParallel


def prepare(settings, rank):
    if rank == 0:
        Arrays.prepare(settings)
    dist.barrier()


def sets(settings):
    return Arrays(settings)


def main():
    settings = json.loads(sys.argv[1])
    dist.init_process_group("nccl")
    rank = int(os.environ["RANK"])
    prepare(settings, rank)
    arrays = sets(settings)
    model = DistributedDataParallel(torch.nn.Linear(len(arrays.values), 2))
    model(torch.zeros(1, len(arrays.values))).sum().backward()


main()
