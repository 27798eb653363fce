"""Trains on what a sampler gives each rank, and shows one batch of the rest at the end of an epoch."""

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from data import loaders_of


def worker(rank, ranks, folder, net, show):
    dist.init_process_group("nccl", rank=rank, world_size=ranks)
    loader, held_out = loaders_of(folder, 8)
    sampler = DistributedSampler(loader.dataset, num_replicas=ranks, rank=rank)
    loader = DataLoader(loader.dataset, batch_size=8, sampler=sampler)
    net = DDP(net)
    optimizer = torch.optim.SGD(net.parameters())
    for epoch in range(10):
        sampler.set_epoch(epoch)
        for batch in loader:
            loss = net(batch).mean()
            loss.backward()
            optimizer.step()
        batch = next(iter(held_out))
        show(net(batch))


if __name__ == "__main__":
    mp.spawn(worker, nprocs=4, args=(4, "data", None, print))
