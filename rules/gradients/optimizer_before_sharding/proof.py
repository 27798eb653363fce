"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

The optimizer steps, and the weights stay what they were.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
mesh = dist.device_mesh.init_device_mesh("cpu", (2,))
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)  # expect: DL610
fully_shard(model, mesh=mesh)
before = model.weight.full_tensor().detach().clone()
model(torch.ones(1, 4)).sum().backward()
optimizer.step()
after = model.weight.full_tensor()
assert not torch.equal(before, after), after
dist.destroy_process_group()
