"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

Each rank was to keep its own gradient; both have the average.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
own = float(dist.get_rank() + 1)
model = DistributedDataParallel(torch.nn.Linear(1, 1, bias=False))
loss = model(torch.full((1, 1), own)).sum()
with model.no_sync():
    loss.backward()  # expect: DL617
gradient = model.module.weight.grad.item()
assert gradient == own, gradient
dist.destroy_process_group()
