"""Goes wrong on 2 ranks: wrong result.

Rank 1 is a moment slower: it truncates the file that rank 0 has written and puts its own part there.
"""

import time
from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
rank = dist.get_rank()
state = {"weight": torch.full((4,), float(rank))}
dist.barrier()
time.sleep(0.5 * rank)
torch.save(state, "checkpoint.pt")  # expect: DL301
dist.barrier()
loaded = torch.load("checkpoint.pt")
assert loaded["weight"].eq(0).all(), f"the checkpoint holds {loaded} instead of rank 0's state"
dist.destroy_process_group()
