"""A script whose last block seeds and spawns: the ranks that import it again do not run the block."""

import random

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main(rank, count):
    dist.init_process_group("nccl", rank=rank, world_size=count)
    model = DistributedDataParallel(nn.Linear(8, 8).cuda(rank))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(8)).sum().backward()
    optimizer.step()


if __name__ == "__main__":
    random.seed(0)
    torch.manual_seed(0)  # expect: DL407
    mp.spawn(fn=main, args=(torch.cuda.device_count(),), nprocs=torch.cuda.device_count())
