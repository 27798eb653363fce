"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

The barrier keeps the ranks together, and both of them write then.
"""

import time
from datetime import timedelta

import torch
import torch.distributed as dist


class Keeper:
    def keep(self, state, best):
        dist.barrier()
        time.sleep(0.4 * dist.get_rank())
        torch.save(state, "last.pt")  # expect: DL301
        torch.save(best, "best.pt")  # expect: DL301
        dist.barrier()


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
rank = torch.tensor(dist.get_rank())
Keeper().keep(rank, rank)
assert torch.load("last.pt").item() == torch.load("best.pt").item() == 0, "not rank 0's"
dist.destroy_process_group()
