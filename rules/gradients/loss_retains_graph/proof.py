"""Goes wrong on 2 ranks: wrong result.

The total of twenty steps holds on to twenty graphs.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
model = DistributedDataParallel(torch.nn.Linear(2, 1))
total = torch.zeros(())
for _ in range(20):
    loss = model(torch.ones(1, 2)).mean()
    loss.backward()
    total += loss  # expect: DL607
kept, steps = total.grad_fn, 0
while kept is not None:
    kept, steps = kept.next_functions[0][0], steps + 1
assert steps == 0, steps
dist.destroy_process_group()
