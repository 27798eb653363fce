"""Spawns one process, which has the first GPU for itself."""

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def connect(rank, count):
    dist.init_process_group("nccl", "tcp://localhost:29511", rank=rank, world_size=count)


def work(rank, count):
    connect(rank, count)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = DistributedDataParallel(nn.Linear(8, 8).to(device))
    model(torch.ones(8, device=device)).sum().backward()


if __name__ == "__main__":
    mp.spawn(work, args=(1,), nprocs=1)
