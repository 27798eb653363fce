"""A training on several ranks, each with a seed of its own (FedMRI 65a396c train_multi_gpu.py:129)."""

import random

import torch.distributed as dist
from sets import Rows, drawn
from torch.utils.data import DataLoader, DistributedSampler


def main(number):
    dist.init_process_group("nccl")
    seed = number + dist.get_rank()
    random.seed(seed)
    rows = Rows([1, 2])
    print(drawn(random.Random(), 7))
    for batch in DataLoader(rows, sampler=DistributedSampler(rows)):
        print(batch)


if __name__ == "__main__":
    main(7)
