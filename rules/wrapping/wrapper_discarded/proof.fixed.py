"""Right on 2 ranks.

The wrapper keeps its name, and the two copies stay equal.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
torch.manual_seed(0)
model = DistributedDataParallel(nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
net = model.module
batch = torch.full((1, 4), float(dist.get_rank() + 1))
loss = model(batch).sum()
loss.backward()
optimizer.step()
weights = [torch.zeros(2, 4), torch.zeros(2, 4)]
dist.all_gather(weights, net.weight.detach())
assert torch.equal(weights[0], weights[1])
dist.destroy_process_group()
