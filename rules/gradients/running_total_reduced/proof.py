"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

Three ones on each of two ranks are six; they become fourteen.
"""

from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
total = torch.zeros(())
for part in torch.ones(3):
    total += part
    dist.all_reduce(total)  # expect: DL620
assert total == 6, total
dist.destroy_process_group()
