"""Counts the GPUs of the one machine that it runs on."""

import torch
import torch.distributed as dist


def meet(port, local_rank, ranks):
    torch.cuda.set_device(local_rank)
    # autodeeplab 065cf99 train_distributed.py:37: a warning; right with one rank for each GPU
    dist.init_process_group(
        "nccl",
        init_method=f"tcp://127.0.0.1:{port}",
        world_size=torch.cuda.device_count(),  # expect: DL508
        rank=local_rank,
    )
