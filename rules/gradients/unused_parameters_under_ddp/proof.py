"""Goes wrong on 2 ranks: fails with error finished reduction in the prior iteration.
Fix: unsafe

The gradient of `head` never comes, and the second forward raises.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(4, 4)
        self.head = torch.nn.Linear(4, 1)  # expect: DL615

    def forward(self, x):
        return self.body(x)


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
model = DistributedDataParallel(Net())
for _ in range(2):
    model(torch.ones(2, 4)).sum().backward()
dist.destroy_process_group()
