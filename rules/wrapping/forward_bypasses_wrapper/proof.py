"""Goes wrong on 2 ranks: wrong result.
Fix: by hand

Each rank steps with the gradient of its own batch, and the two copies differ after one step.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
model = DistributedDataParallel(nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batch = torch.full((1, 4), float(dist.get_rank() + 1))
loss = model.module(batch).sum()  # expect: DL206
loss.backward()
optimizer.step()
weights = [torch.zeros(2, 4), torch.zeros(2, 4)]
dist.all_gather(weights, model.module.weight.detach())
assert torch.equal(weights[0], weights[1])
dist.destroy_process_group()
