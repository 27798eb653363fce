"""Trainers of Lightning that may be done before any rank's stream ends, one that ends on one device, and an endless stream."""

import itertools

import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, IterableDataset


class Lines(IterableDataset):
    def __init__(self, lines, rank, world_size):
        self.lines = lines
        self.rank = rank
        self.world_size = world_size

    def __iter__(self):
        for line in self.lines[self.rank :: self.world_size]:
            yield torch.tensor(line)


class Again(Lines):
    def __iter__(self):
        for line in itertools.cycle(self.lines[self.rank :: self.world_size]):
            yield torch.tensor(line)


class Data(pl.LightningDataModule):
    def train_dataloader(self):
        stream = Lines(range(1001), self.trainer.global_rank, self.trainer.world_size)
        return DataLoader(stream, batch_size=4)


def counted(net):
    pl.Trainer(accelerator="gpu", devices=4, strategy="ddp", max_steps=300).fit(net, Data())


def cut(net):
    trainer = pl.Trainer(devices=4, strategy="ddp", max_epochs=3, limit_train_batches=50)
    trainer.fit(net, Data())


def one(net):
    pl.Trainer(accelerator="gpu", devices=1, max_epochs=3).fit(net, Data())


if __name__ == "__main__":
    counted(None)
    cut(None)
    one(None)
