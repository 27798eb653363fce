"""A worker hands the loader and the wrapped model to a function that trains."""

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torchvision.datasets import CIFAR10

from steps import Steps


def one_epoch(batches, net, optimizer):
    for images, labels in batches:
        loss = torch.nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()


def worker(rank, ranks, name, folder, net):
    dist.init_process_group("nccl", rank=rank, world_size=ranks)
    data = []
    if name == "cifar":
        data = CIFAR10(folder, train=True)
    batches = DataLoader(data, batch_size=8, shuffle=True)  # expect: DL404
    net = DDP(net)
    optimizer = torch.optim.SGD(net.parameters())
    for epoch in range(10):
        one_epoch(batches, net, optimizer)
    Steps(net.module, folder).run(100)


if __name__ == "__main__":
    mp.spawn(worker, nprocs=4, args=(4, "cifar", "data", None))
