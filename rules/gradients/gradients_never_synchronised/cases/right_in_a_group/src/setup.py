import os

import torch.distributed as dist


def prepare():
    if "WORLD_SIZE" in os.environ:
        dist.init_process_group("nccl")
