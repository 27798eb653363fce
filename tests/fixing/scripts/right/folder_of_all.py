"""`exist_ok` takes what another rank made."""

import os

import torch.distributed as dist


def prepare(path):
    dist.barrier()
    os.makedirs(path, exist_ok=True)
