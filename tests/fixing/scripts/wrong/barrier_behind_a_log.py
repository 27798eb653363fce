"""Goes wrong on 2 ranks: hangs.

Rank 0 logs and waits inside the branch; rank 1 has gone on.
"""

from datetime import timedelta

import torch
import torch.distributed as dist


def evaluate(scores):
    total = torch.tensor(scores)
    if dist.get_rank() == 0:
        print("scores", total.tolist())
        dist.barrier()  # expect: DL101
    return total.sum()


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
assert evaluate([1.0, 2.0]) == 3
dist.all_reduce(torch.ones(1))
dist.destroy_process_group()
