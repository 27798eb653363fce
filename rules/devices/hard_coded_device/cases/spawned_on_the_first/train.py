"""Spawns ranks that know their number, and take the first GPU where there are any."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def connect(rank, count):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "29511"
    dist.init_process_group("nccl", rank=rank, world_size=count)


def work(rank, count):
    connect(rank, count)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")  # expect: DL503
    model = DistributedDataParallel(nn.Linear(8, 8).to(device))
    model(torch.ones(8, device=device)).sum().backward()


def work_by_a_name(rank, count):
    connect(rank, count)
    where = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Linear(8, 8).to(where)  # expect: DL503
    model(torch.ones(8).to(where)).sum().backward()
    dist.all_reduce(model.weight.grad)


def work_on_the_current(rank, count):
    connect(rank, count)
    model = DistributedDataParallel(nn.Linear(8, 8).cuda())  # expect: DL503
    model(torch.ones(8).to(f"cuda:{rank}")).sum().backward()


def work_on_the_cpu(rank, count):
    connect(rank, count)
    model = nn.Linear(8, 8).to("cpu")
    dist.all_reduce(model.weight)


def work_on_its_own(rank, count):
    connect(rank, count)
    device = torch.device(f"cuda:{rank}" if torch.cuda.is_available() else "cpu")
    model = DistributedDataParallel(nn.Linear(8, 8).to(device))
    model(torch.ones(8, device=device)).sum().backward()


if __name__ == "__main__":
    count = torch.cuda.device_count()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    mp.spawn(work, args=(count,), nprocs=count)
    mp.spawn(work_by_a_name, args=(count,), nprocs=count)
    mp.spawn(work_on_the_current, args=(count,), nprocs=count)
    mp.spawn(work_on_the_cpu, args=(count,), nprocs=count)
    mp.spawn(work_on_its_own, args=(count,), nprocs=count)
    print(torch.ones(8).to(device))
