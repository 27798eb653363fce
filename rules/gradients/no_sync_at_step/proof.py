"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

Each rank steps with its own gradient of the second micro-batch; the weights of the ranks differ.
"""

from contextlib import nullcontext
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
own = float(dist.get_rank() + 1)
every = 2
model = DistributedDataParallel(torch.nn.Linear(1, 1, bias=False))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(4):
    with model.no_sync() if i % every != 0 else nullcontext():  # expect: DL622
        model(torch.full((1, 1), own)).sum().backward()
    if (i + 1) % every == 0:
        optimizer.step()
        optimizer.zero_grad()
weight = model.module.weight.detach().clone()
lowest = weight.clone()
dist.all_reduce(lowest, op=dist.ReduceOp.MIN)
dist.all_reduce(weight, op=dist.ReduceOp.MAX)
assert torch.equal(lowest, weight), (lowest, weight)
dist.destroy_process_group()
