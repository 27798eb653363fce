"""A loop without an end, each turn of which calls the method that goes through all of a loader."""

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


class Fitting:
    def __init__(self, loaders, model, optimizer, limit):
        self.loaders = loaders
        self.model = model
        self.optimizer = optimizer
        self.limit = limit
        self.done = 0

    def run(self):
        while self.done < self.limit:
            self.once_through()

    def once_through(self):
        for batch in self.loaders["train_loader"]:
            self.model(batch).sum().backward()
            self.optimizer.step()
            self.done += 1


def main(data, model, optimizer):
    dist.init_process_group("nccl")
    samplers = {"train": DistributedSampler(data)}  # expect: DL403
    loaders = {"train_loader": DataLoader(data, sampler=samplers["train"])}
    Fitting(loaders, model, optimizer, 1000).run()


if __name__ == "__main__":
    main(list(range(8)), None, None)
