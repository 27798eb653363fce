"""A script whose last block seeds for what it draws itself, and hands it to the ranks."""

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import random_split


def main(rank, count, parts):
    dist.init_process_group("nccl", rank=rank, world_size=count)
    model = DistributedDataParallel(nn.Linear(8, 8).cuda(rank))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(parts[0][0]).sum().backward()
    optimizer.step()


if __name__ == "__main__":
    torch.manual_seed(0)
    parts = random_split(torch.load("data.pt"), [800, 200])
    mp.spawn(main, args=(8, parts), nprocs=8)
