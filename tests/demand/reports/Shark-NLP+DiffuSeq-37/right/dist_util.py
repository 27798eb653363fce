import os

import torch
import torch.distributed as dist


def setup_dist():
    if dist.is_initialized():
        return
    dist.init_process_group(backend="nccl", init_method="env://")
    torch.cuda.set_device(dev())


def dev():
    return torch.device(f"cuda:{os.environ['LOCAL_RANK']}")
