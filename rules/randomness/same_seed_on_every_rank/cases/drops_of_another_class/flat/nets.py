"""A flat net, which drops."""

import torch

from .layers import Block

BLOCKS = {"block": Block}


class Flat(torch.nn.Module):
    def __init__(self, width, rate):
        super().__init__()
        self.block = Block(width, rate)

    def forward(self, batch):
        return self.block(batch)
