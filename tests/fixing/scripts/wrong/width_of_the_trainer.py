"""Goes wrong on 2 ranks: fails with error AttributeError.

The trainer wraps its network in one method and reads it in another.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.width = 2
        self.layer = torch.nn.Linear(2, 1)

    def forward(self, batch):
        return self.layer(batch)


class Trainer:
    def __init__(self, net):
        self.net = DistributedDataParallel(net)

    def batch(self):
        return torch.ones(1, self.net.width)  # expect: DL201

    def step(self):
        self.net(self.batch()).sum().backward()


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
Trainer(Net()).step()
dist.destroy_process_group()
