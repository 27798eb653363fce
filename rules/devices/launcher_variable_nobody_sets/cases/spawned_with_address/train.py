"""Starts its ranks itself."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP


def work(rank, ranks, data):
    if "SLURM_PROCID" in os.environ:
        dist.init_process_group("nccl")
    else:
        dist.init_process_group("nccl", init_method="env://", rank=rank, world_size=ranks)
    net = DDP(torch.nn.Linear(8, 1).to(rank), device_ids=[rank])
    optimizer = torch.optim.SGD(net.parameters())
    for batch in data:
        net(batch.to(rank)).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    ranks = torch.cuda.device_count()
    mp.spawn(work, args=(ranks, torch.load("data.pt")), nprocs=ranks)
