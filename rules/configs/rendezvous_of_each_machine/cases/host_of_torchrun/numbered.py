"""Meets at a host of its own, where each machine is told its number, or there is one."""

import os

import torch.distributed as dist


def main(first):
    ranks = int(os.environ["WORLD_SIZE"])
    where = f"tcp://{first}:29600"
    dist.init_process_group("nccl", init_method=where, rank=int(os.environ["RANK"]), world_size=ranks)
    dist.barrier()


if __name__ == "__main__":
    main(os.environ["FIRST"])
