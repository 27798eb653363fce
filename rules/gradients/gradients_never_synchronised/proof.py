"""Goes wrong on 2 ranks: wrong result.
Fix: by hand

Each rank trains on its part of the data, and the replicas are two models.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo", timeout=timedelta(seconds=60))


def train() -> float:
    data = torch.arange(8.0).exp2().unsqueeze(1)
    torch.manual_seed(0)
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in DataLoader(data, batch_size=2, sampler=DistributedSampler(data)):
        model(batch).mean().backward()  # expect: DL621
        optimizer.step()
        optimizer.zero_grad()
    return model.weight.item()


learned = [0.0, 0.0]
dist.all_gather_object(learned, train())
assert learned[0] == learned[1], learned
dist.barrier()
dist.destroy_process_group()
