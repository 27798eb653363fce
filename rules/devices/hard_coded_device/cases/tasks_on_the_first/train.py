"""Trains as tasks of Slurm, of which each sees a GPU of its own."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def main(net, batches):
    os.environ["RANK"] = os.environ["SLURM_PROCID"]
    os.environ["WORLD_SIZE"] = os.environ["SLURM_NTASKS"]
    torch.cuda.set_device(0)
    dist.init_process_group("nccl")
    net = DDP(net.cuda(), device_ids=[0])
    optimizer = torch.optim.SGD(net.parameters())
    for batch in batches:
        net(batch).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    main(torch.nn.Linear(8, 1), torch.load("batches.pt"))
