"""Goes wrong on 2 ranks: wrong result.
Fix: by hand

Each rank has a loss of 1, and 2 is reported.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
reported = {}


def log(numbers):
    reported.update(numbers)


data = torch.ones(4)
losses = torch.zeros(())
loader = DataLoader(data, batch_size=1, sampler=DistributedSampler(data))
for batch in loader:
    losses += batch.mean()
losses /= len(loader)
dist.all_reduce(losses, op=dist.ReduceOp.SUM)
losses /= dist.get_world_size()
log({"loss": losses.item()})  # expect: DL612
assert reported["loss"] == 1.0, reported
dist.destroy_process_group()
