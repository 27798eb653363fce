"""Goes wrong on 2 ranks: hangs.
Fix: unsafe

All but rank 0 return before the sum, which needs their part.
"""

from datetime import timedelta

import torch
import torch.distributed as dist


def report(count):
    if dist.get_rank() != 0:
        return None
    dist.all_reduce(count)  # expect: DL101
    return int(count)


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
report(torch.ones(1))
dist.barrier()
dist.destroy_process_group()
