"""Goes wrong on 2 ranks: hangs.

Rank 0 writes and then waits for the others inside its branch.
"""

from datetime import timedelta

import torch
import torch.distributed as dist


def keep(state, path):
    if dist.get_rank() == 0:
        torch.save(state, path)
        dist.barrier()  # expect: DL101


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
keep({"step": 1}, "last.pt")
dist.all_reduce(torch.ones(1))
assert torch.load("last.pt") == {"step": 1}
dist.destroy_process_group()
