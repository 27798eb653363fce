"""A runner whose property makes the loader, and what tells its sampler when it ends (ST-LLM ae45258 stllm/runners/runner_base.py:526)."""

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


class Endless:
    def __init__(self, loader):
        self.loader, self.rounds = loader, 0
        self.batches = iter(loader)

    def __next__(self):
        try:
            return next(self.batches)
        except StopIteration:
            self.rounds += 1
            self.loader.sampler.set_epoch(self.rounds)
            self.batches = iter(self.loader)
            return next(self.batches)


class Runner:
    def __init__(self, net, data, epochs):
        self.net, self.data, self.epochs = net, data, epochs
        self.made = None

    @property
    def train_loader(self):
        if self.made is None:
            self.made = self.created(self.data)
        return self.made

    def created(self, data):
        return Endless(DataLoader(data, sampler=DistributedSampler(data)))

    def train(self):
        dist.init_process_group("nccl")
        for epoch in range(self.epochs):
            self.train_epoch(epoch)

    def train_epoch(self, epoch):
        for _ in range(100):
            self.net(next(self.train_loader), epoch).sum().backward()
