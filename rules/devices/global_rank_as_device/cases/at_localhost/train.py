"""Trains on one GPU for each task of SLURM, at an address of this machine: Openpilot-Deepdive 6e02f9d main.py:57."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def start(rank, size):
    torch.cuda.set_device(rank)
    dist.init_process_group(
        "nccl", init_method="tcp://localhost:%s" % os.environ["PORT"], rank=rank, world_size=size
    )


def train(model):
    rank = int(os.environ["SLURM_PROCID"])
    start(rank, int(os.environ["SLURM_NTASKS"]))
    return DDP(model.cuda(), device_ids=[rank])
