"""Everything that trains goes through the wrapper."""

import torch
from torch.nn.parallel import DistributedDataParallel


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def loss(self, batch):
        return self.layer(batch).mean()

    def forward(self, batch):
        return self.loss(batch)


def train(batches, optimizer):
    net = DistributedDataParallel(Net())
    for batch in batches:
        net(batch).backward()
        optimizer.step()
