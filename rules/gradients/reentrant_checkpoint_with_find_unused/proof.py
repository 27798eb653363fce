"""Goes wrong on 2 ranks: fails with error marked as ready twice.
Fix: unsafe

DDP takes the layer inside the checkpoint for unused, and then gets its gradient after all.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 1)

    def forward(self, x):
        x = self.first(x)
        return checkpoint(self.second, x, use_reentrant=True)  # expect: DL616


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
model = DistributedDataParallel(Net(), find_unused_parameters=True)
model(torch.ones(2, 4)).sum().backward()
assert model.module.second.weight.grad is not None
dist.destroy_process_group()
