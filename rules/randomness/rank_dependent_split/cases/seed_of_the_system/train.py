"""Seeds the program, and makes a data set that seeds anew without a number."""

import random

import torch.distributed as dist
from lines import Lines
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def main(model, path):
    dist.init_process_group("nccl")
    random.seed(42)
    with open(path) as file:
        data = Lines(file.readlines())
    model = DistributedDataParallel(model)
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        model(batch).mean().backward()


if __name__ == "__main__":
    main(None, "lines.txt")
