"""Goes wrong on 2 ranks: hangs.
Fix: unsafe

Rank 0 leaves the loop in the second round; the other waits in the third.
"""

from datetime import timedelta

import torch
import torch.distributed as dist


def judge(epoch):
    return epoch == 1


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
stop = False
for epoch in range(3):
    dist.all_reduce(torch.ones(1))
    if dist.get_rank() == 0:
        stop = judge(epoch)
    if stop:  # expect: DL111
        break
dist.destroy_process_group()
