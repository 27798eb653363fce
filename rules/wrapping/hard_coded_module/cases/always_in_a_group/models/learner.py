"""Wraps where there is a group, as there is in all that make it."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Learner:
    def __init__(self, place):
        self.net = torch.nn.Linear(2, 2).to(place)
        if dist.is_initialized():
            self.net = DDP(self.net)

    def train(self, loader):
        for batch in loader:
            self.net(batch).sum().backward()

    def evaluate(self):
        return self.net.module.weight.sum()
