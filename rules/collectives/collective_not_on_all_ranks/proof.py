"""Goes wrong on 2 ranks: hangs.

Rank 0 waits in a barrier that rank 1 never reaches.
"""

from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))


def save(state):
    if dist.get_rank() == 0:
        torch.save(state, "state.pt")
        dist.barrier()  # expect: DL101


save({"step": 1})
dist.destroy_process_group()
