"""The process that spawns the ranks comes to the top of the script first, and the ranks find the folder."""

import os

import torch.distributed as dist
import torch.multiprocessing as mp

if not os.path.exists("records"):
    os.makedirs("records")


def work(rank, count):
    dist.init_process_group("nccl", "tcp://localhost:29511", rank=rank, world_size=count)
    dist.barrier()


if __name__ == "__main__":
    mp.spawn(work, args=(8,), nprocs=8)
