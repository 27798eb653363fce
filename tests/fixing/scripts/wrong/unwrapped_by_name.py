"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

The network keeps its layers in `module`: taking that for the wrapper loses its head.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.module = torch.nn.Linear(2, 2)
        self.head = torch.nn.Linear(2, 1)

    def forward(self, batch):
        return self.head(self.module(batch))


def plain(net):
    while hasattr(net, "module"):  # expect: DL205
        net = net.module
    return net


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
net = DistributedDataParallel(Net())
state = plain(net).state_dict()
assert "head.weight" in state, f"the head is missing from {sorted(state)}"
dist.destroy_process_group()
