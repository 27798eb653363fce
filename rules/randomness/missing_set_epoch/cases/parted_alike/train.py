"""Trains on the parts of many graphs."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from parts import loader_of


def train(net, graphs):
    net = DDP(net)
    optimizer = torch.optim.SGD(net.parameters())
    for epoch in range(10):
        for graph in graphs:
            for part in loader_of(graph, 100, mix=False):
                loss = net(part).sum()
                loss.backward()
                optimizer.step()


if __name__ == "__main__":
    dist.init_process_group("nccl")
    train(torch.nn.Linear(8, 1), torch.load("graphs.pt"))
