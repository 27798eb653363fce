"""Goes wrong on 2 ranks: wrong result.
Fix: by hand

Gradients are divided by the number of ranks twice, and the weight moves half as far.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
data = torch.ones(2, 1)
model = DistributedDataParallel(torch.nn.Linear(1, 1, bias=False))
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
before = model.module.weight.item()
for batch in DataLoader(data, batch_size=1, sampler=DistributedSampler(data)):
    loss = model(batch).mean()
    dist.all_reduce(loss)
    loss = loss / dist.get_world_size()
    loss.backward()  # expect: DL619
    optimizer.step()
change = model.module.weight.item() - before
assert abs(change + 1.0) < 1e-5, change
dist.destroy_process_group()
