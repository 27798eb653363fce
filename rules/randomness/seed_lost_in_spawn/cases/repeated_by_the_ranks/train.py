"""A script that seeds at its top, which each rank that it spawns runs again."""

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(0)


def main(rank, count):
    dist.init_process_group("nccl", rank=rank, world_size=count)
    model = DistributedDataParallel(nn.Linear(8, 8).cuda(rank))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(8)).sum().backward()
    optimizer.step()


def start():
    torch.manual_seed(1)
    mp.spawn(main, args=(8,), nprocs=8)


if __name__ == "__main__":
    torch.manual_seed(2)
    start()
    mp.spawn(main, args=(8,), nprocs=8)
