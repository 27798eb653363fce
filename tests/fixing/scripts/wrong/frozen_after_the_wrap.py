"""Goes wrong on 2 ranks: fails with error AttributeError.
Fix: unsafe

The encoder is frozen behind the wrap: the wrapper has no such attribute, and it would wait for the gradients.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Linear(2, 2)
        self.head = torch.nn.Linear(2, 1)

    def forward(self, batch):
        return self.head(self.encoder(batch))


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
net = Net()
net = DistributedDataParallel(net)
net.encoder.requires_grad_(False)  # expect: DL201
for _ in range(3):
    net(torch.ones(1, 2)).sum().backward()
dist.destroy_process_group()
