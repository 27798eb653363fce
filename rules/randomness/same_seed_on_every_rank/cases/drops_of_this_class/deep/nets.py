"""A deep net, which drops."""

import torch

from .layers import Block


class Deep(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.blocks = torch.nn.Sequential(Block(width), Block(width, 0.1))

    def forward(self, batch):
        return self.blocks(batch)
