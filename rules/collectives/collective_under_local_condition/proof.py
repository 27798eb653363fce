"""Goes wrong on 2 ranks: hangs.
Fix: unsafe

Rank 1 has no element left after masking and skips the all_reduce in which rank 0 waits.
"""

from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
values = torch.arange(4.0)
if dist.get_rank() == 1:
    values -= 10


def mean_of_positive(values):
    kept = values[values > 0]
    if kept.numel() == 0:  # expect: DL103
        return torch.zeros(1)
    total = torch.stack([kept.sum(), torch.tensor(float(kept.numel()))])
    dist.all_reduce(total)
    return total[0] / total[1]


print(mean_of_positive(values))
dist.destroy_process_group()
