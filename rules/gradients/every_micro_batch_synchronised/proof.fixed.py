"""Goes wrong on 2 ranks: wrong result.
Fix: by hand

Four micro-batches and one step of the optimizer: the gradients were to be sent once, and are sent four times.
"""

from contextlib import nullcontext
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
sent: list[int] = []


def counted(group, bucket):
    sent.append(1)
    return allreduce_hook(group, bucket)


model = DistributedDataParallel(torch.nn.Linear(1, 1, bias=False))
model.register_comm_hook(None, counted)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(4):
    last = (step + 1) % 4 == 0
    with nullcontext() if last else model.no_sync():
        loss = model(torch.ones(1, 1)).sum() / 4
        loss.backward()
    if last:
        optimizer.step()
        optimizer.zero_grad()
assert len(sent) == 1, sent
dist.destroy_process_group()
