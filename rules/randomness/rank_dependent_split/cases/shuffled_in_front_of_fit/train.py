"""Clips in an order of each rank's own, which a Trainer divides: UniAnimate-DiT 884ac92 examples/unianimate_wan/train_unianimate_wan.py:195."""

import os
import random

import lightning as pl
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self, folder):
        self.clips = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
        random.shuffle(self.clips)  # expect: DL405

    def __getitem__(self, index):
        return self.clips[index]

    def __len__(self):
        return len(self.clips)


def train(args, module):
    loader = DataLoader(Clips(args.folder), shuffle=True)
    trainer = pl.Trainer(accelerator="gpu", devices="auto", strategy=args.strategy)
    trainer.fit(module, loader)


if __name__ == "__main__":
    train(None, None)
