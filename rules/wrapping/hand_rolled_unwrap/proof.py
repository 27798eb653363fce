"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

The network owns a part called `module`, and the loop throws away what is around it.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.module = nn.Linear(4, 2)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.module(x) * self.scale


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
net = DistributedDataParallel(Scaled())
while hasattr(net, "module"):  # expect: DL205
    net = net.module
assert isinstance(net, Scaled), type(net)
dist.destroy_process_group()
