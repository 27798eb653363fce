"""The function that makes the group is called by the one that is spawned, below this machine's address."""

import os

import torch.distributed as dist
import torch.multiprocessing as mp
from trainer import CellTrainer


def join(rank, count):
    dist.init_process_group("nccl", rank=rank, world_size=count)


def work(rank, count):
    join(rank, count)
    CellTrainer().run()


def main(count):
    if count > 1:
        os.environ["MASTER_ADDR"] = "localhost"
        os.environ["MASTER_PORT"] = "29512"
        mp.spawn(work, args=(count,), nprocs=count)


if __name__ == "__main__":
    main(2)
