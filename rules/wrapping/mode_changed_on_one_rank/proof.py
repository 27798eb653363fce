"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

Rank 0 samples after the first step and makes the second without dropout.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.5))
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
modes = []
for batch in torch.ones(2, 4, 2):
    modes.append(model.training)
    loss = model(batch).mean()
    loss.backward()
    optimizer.step()
    if dist.get_rank() == 0:
        model.eval()  # expect: DL209
        print(model.module(batch).mean())
assert modes == [True, True], modes
dist.destroy_process_group()
