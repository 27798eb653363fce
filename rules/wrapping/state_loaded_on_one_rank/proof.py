"""Goes wrong on 2 ranks: wrong result.
Fix: by hand

Rank 0 goes on with the moments of the checkpoint, the other begins anew: their weights part at the first step.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(2, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
model(torch.ones(4, 2)).mean().backward()
optimizer.step()
saved = optimizer.state_dict()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
if dist.get_rank() == 0:
    optimizer.load_state_dict(saved)  # expect: DL211
optimizer.zero_grad()
model(-3 * torch.ones(4, 2)).mean().backward()
optimizer.step()
weight = next(model.parameters()).detach().clone()
weights = [torch.empty_like(weight) for _ in range(dist.get_world_size())]
dist.all_gather(weights, weight)
assert torch.equal(weights[0], weights[1]), weights
dist.destroy_process_group()
