"""Trains on one GPU for each task of SLURM, at the address of the first machine."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def start(rank, size):
    torch.cuda.set_device(rank)  # expect: DL504
    dist.init_process_group(
        "nccl", init_method="tcp://%s:%s" % (os.environ["HEAD"], os.environ["PORT"]), rank=rank, world_size=size
    )


def train(model):
    rank = int(os.environ["SLURM_PROCID"])
    start(rank, int(os.environ["SLURM_NTASKS"]))
    return DDP(model.cuda(), device_ids=[rank])  # expect: DL504
