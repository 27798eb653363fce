"""Goes wrong on 2 ranks: fails with error Missing key.
Fix: unsafe

The state is that of the wrapper; the plain network cannot read it.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
net = torch.nn.Linear(2, 1)
net = DistributedDataParallel(net)
net(torch.ones(1, 2)).sum().backward()
if dist.get_rank() == 0:
    torch.save({"net": net.state_dict()}, "last.pt")  # expect: DL307
dist.barrier()
torch.nn.Linear(2, 1).load_state_dict(torch.load("last.pt")["net"])
dist.destroy_process_group()
