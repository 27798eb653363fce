"""Goes wrong on 1 rank: fails with error has no attribute 'module'.

The script wraps where there are several ranks; on one, `.module` is not there.
"""

from datetime import timedelta

import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
model = nn.Linear(4, 2)
if dist.get_world_size() > 1:
    model = DistributedDataParallel(model)
features = model.module.out_features  # expect: DL204
assert features == 2
dist.destroy_process_group()
