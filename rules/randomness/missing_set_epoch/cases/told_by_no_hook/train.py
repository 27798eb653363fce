"""A hook that shows the epoch, by a method that its base calls, and none that tells it."""

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

from hooks import ShowsTheEpoch


class Trainer:
    def __init__(self, model):
        self.model = model
        self.epoch = 0
        self.hooks = []

    def register(self, hook):
        self.hooks.append(hook)

    def call(self, name):
        for hook in self.hooks:
            getattr(hook, name)(self)

    def train(self, loader):
        self.loader = loader
        self.call("before_train_epoch")
        for batch in loader:
            self.model(batch).sum().backward()
        self.epoch += 1

    def run(self, loader, epochs):
        while self.epoch < epochs:
            self.train(loader)


def main(model, data):
    dist.init_process_group("nccl")
    loader = DataLoader(data, sampler=DistributedSampler(data))  # expect: DL403
    trainer = Trainer(model)
    trainer.register(ShowsTheEpoch())
    trainer.run(loader, 10)


if __name__ == "__main__":
    main(None, None)
