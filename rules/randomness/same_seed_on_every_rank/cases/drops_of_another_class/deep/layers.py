"""Layers of a deep net."""

import torch


class Block(torch.nn.Module):
    def __init__(self, width, rate=0):
        super().__init__()
        self.layer = torch.nn.Linear(width, width)
        self.rate = rate

    def forward(self, batch):
        batch = self.layer(batch)
        if not self.rate or not self.training:
            return batch
        return batch * (torch.rand(len(batch), 1) > self.rate)
