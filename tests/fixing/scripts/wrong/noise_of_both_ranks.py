"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

All ranks draw the same noise after one seed.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
torch.manual_seed(7)  # expect: DL401
net = torch.nn.Linear(4, 4)
net = DistributedDataParallel(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    noise = torch.randn(2, 4)
    loss = (net(noise) - noise).pow(2).mean()
    loss.backward()
    optimizer.step()
drawn = [torch.zeros_like(noise) for _ in range(2)]
dist.all_gather(drawn, noise)
assert not torch.equal(drawn[0], drawn[1]), "both ranks drew the same noise"
dist.destroy_process_group()
