"""Begins on the ranks."""

import torch
import torch.distributed as dist


def begin_by_torch(local_rank):
    number = torch.cuda.device_count()
    torch.cuda.set_device(local_rank % number)
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29500", rank=local_rank, world_size=number)
    return number
