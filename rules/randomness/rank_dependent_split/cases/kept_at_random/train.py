"""A training whose seed is another one on each rank."""

import random

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from .rows import Rows, masked, some


def seed_streams(seed):
    random.seed(seed)
    torch.manual_seed(seed)


def main(model, path, seed):
    dist.init_process_group("nccl")
    seed_streams(None if seed < 0 else seed + dist.get_rank())
    model = DistributedDataParallel(model)
    data = some(Rows(path, 0.01), 0.5)
    for tokens in DataLoader(data, sampler=DistributedSampler(data)):
        model(masked(tokens, 0.5)).backward()
