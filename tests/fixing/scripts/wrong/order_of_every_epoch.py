"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

The sampler shuffles alike in each epoch, since nobody tells it which one begins.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
data = list(range(32))
sampler = DistributedSampler(data, shuffle=True)  # expect: DL403
loader = DataLoader(data, batch_size=4, sampler=sampler)
orders = []
for epoch in range(3):
    orders.append([])
    for batch in loader:
        orders[-1] += batch.tolist()
assert orders[0] != orders[1], "both epochs have one order"
dist.all_reduce(torch.ones(1))
dist.destroy_process_group()
