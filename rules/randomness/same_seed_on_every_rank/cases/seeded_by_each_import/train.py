"""Seeds at the top of a script, which each rank that it spawns imports again."""

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(0)  # expect: DL401


def work(rank, count, data):
    dist.init_process_group("nccl", "tcp://localhost:29511", rank=rank, world_size=count)
    torch.cuda.set_device(rank)
    model = DistributedDataParallel(nn.Linear(8, 8).cuda(rank))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in data:
        model(batch + torch.randn_like(batch)).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    mp.spawn(work, args=(8, torch.load("data.pt")), nprocs=8)
