"""Goes wrong on 2 ranks: wrong result.
Fix: safe

The weights are ones in the file, and stay what they were.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
net = DistributedDataParallel(nn.Linear(2, 1, bias=False))
checkpoint = {"module.weight": torch.ones(1, 2)}
state = {key.replace("module.", ""): value for key, value in checkpoint.items()}
net.load_state_dict(state, strict=False)  # expect: DL213
assert torch.equal(net.module.weight, torch.ones(1, 2)), net.module.weight
dist.destroy_process_group()
