"""Gives each rank its part of the points."""

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from data import loaders_of


def work(rank, ranks):
    dist.init_process_group("nccl", init_method="tcp://localhost:29500", rank=rank, world_size=ranks)
    torch.manual_seed(0)
    loader, held_out = loaders_of(1000, 8)
    sampler = DistributedSampler(loader.dataset, num_replicas=ranks, rank=rank)
    loader = DataLoader(loader.dataset, batch_size=8, sampler=sampler)
    net = DDP(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters())
    for epoch in range(10):
        sampler.set_epoch(epoch)
        for (batch,) in loader:
            net(batch).sum().backward()
            optimizer.step()
    print(sum(net(batch).sum() for (batch,) in held_out))


if __name__ == "__main__":
    mp.spawn(work, nprocs=4, args=(4,))
