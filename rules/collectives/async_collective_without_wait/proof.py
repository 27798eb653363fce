"""Goes wrong on 2 ranks: wrong result.
Fix: by hand

Rank 1 reads its buffer while rank 0 has not sent anything yet.
"""

import time
from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))


def share(x):
    if dist.get_rank() == 0:
        time.sleep(0.5)
        dist.send(x, 1)
        return x.sum()
    request = dist.irecv(x, 0)  # expect: DL109
    total = x.sum()
    request.wait()
    return total


total = share(torch.full((4,), 1.0 - dist.get_rank()))
assert total == 4, f"rank {dist.get_rank()} has {total}"
dist.destroy_process_group()
