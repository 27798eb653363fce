"""A hook that tells the sampler, by a method that its base calls: FocalsConv e7b68e4 CenterPoint/det3d/torchie/apis/train.py:316."""

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

from hooks import TellsTheEpoch


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
    loader = DataLoader(data, sampler=DistributedSampler(data))
    trainer = Trainer(model)
    trainer.register(TellsTheEpoch())
    trainer.run(loader, 10)


if __name__ == "__main__":
    main(None, None)
