"""Layers of a flat net."""

import torch


class Block(torch.nn.Module):
    def __init__(self, width, rate=0):
        super().__init__()
        self.layer = torch.nn.Linear(width, width)
        self.drop = torch.nn.Dropout(rate)

    def forward(self, batch):
        return self.drop(self.layer(batch))
