"""Lightning's Trainer divides no stream: each rank ends its epoch where its own part ends."""

import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, IterableDataset


class Lines(IterableDataset):
    def __init__(self, lines, rank, world_size):
        self.lines = lines
        self.rank = rank
        self.world_size = world_size

    def __iter__(self):
        for line in self.lines[self.rank :: self.world_size]:  # expect: DL104
            yield torch.tensor(line)


class Data(pl.LightningDataModule):
    def train_dataloader(self):
        stream = Lines(range(1001), self.trainer.global_rank, self.trainer.world_size)
        return DataLoader(stream, batch_size=4)


def main(net):
    pl.Trainer(accelerator="gpu", devices=4, strategy="ddp", max_epochs=3).fit(net, Data())


if __name__ == "__main__":
    main(None)
