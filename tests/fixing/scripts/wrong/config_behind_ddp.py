"""Goes wrong on 2 ranks: fails with error AttributeError.

The setting belongs to the network inside the wrapper.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Net(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.layer = torch.nn.Linear(width, 1)

    def forward(self, batch):
        return self.layer(batch)


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
net = DistributedDataParallel(Net(4))
batch = torch.randn(2, net.width)  # expect: DL201
net(batch).sum().backward()
dist.destroy_process_group()
