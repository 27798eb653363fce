"""Epochs over what a data module gives, whose evaluation is told the epoch."""

import torch.distributed as dist

from modules import Images


def test_one_epoch(model, loader, epoch):
    # monst3r 574cc77 dust3r/training.py:485
    if hasattr(loader.sampler, "set_epoch"):
        loader.sampler.set_epoch(epoch)
    for batch in loader:
        model(batch)


class Run:
    def __init__(self, model, module):
        self.model, self.module = model, module

    def train_one_epoch(self, epoch, loader):
        loader.sampler.set_epoch(epoch)
        for batch in loader:
            self.model(batch, epoch).sum().backward()

    def run(self, epochs):
        batches, held_out = self.module.train_dataloader(), self.module.val_dataloader()
        for epoch in range(epochs):
            self.train_one_epoch(epoch, batches)
            test_one_epoch(self.model, held_out, epoch)


def main(model, images, held_out, epochs):
    dist.init_process_group("nccl")
    Run(model, Images(images, held_out)).run(epochs)
