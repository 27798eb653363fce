"""Loops without an end whose turns call what tells the sampler the epoch, and what only measures."""

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


class Fitting:
    def __init__(self, loader, sampler, model, optimizer):
        self.loader = loader
        self.sampler = sampler
        self.model = model
        self.optimizer = optimizer
        self.passes = 0

    def run(self, limit):
        while self.passes < limit:
            self.once_through()

    def once_through(self):
        self.sampler.set_epoch(self.passes)
        for batch in self.loader:
            self.model(batch).sum().backward()
            self.optimizer.step()
        self.passes += 1


def validate(loader, model):
    for batch in loader:
        model.test_step(batch)


def watch(folder, loader, model):
    while folder.has_more():
        validate(loader, model)


def main(data, model, optimizer, folder):
    dist.init_process_group("nccl")
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler)
    Fitting(loader, sampler, model, optimizer).run(3)
    watch(folder, loader, model)


if __name__ == "__main__":
    main(list(range(8)), None, None, None)
