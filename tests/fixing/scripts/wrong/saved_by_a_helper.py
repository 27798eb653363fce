"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

The helper is given a path and writes on whoever calls; here all do.
"""

import time
from datetime import timedelta

import torch
import torch.distributed as dist


def store(state, path):
    torch.save(state, path)  # expect: DL301


def best_of(scores):
    best = torch.tensor(max(scores))
    dist.all_reduce(best, op=dist.ReduceOp.MAX)
    if dist.get_rank() == 0:
        print("best", best.item())
    time.sleep(0.4 * dist.get_rank())
    store({"rank": dist.get_rank(), "best": best}, "best.pt")
    dist.barrier()


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
best_of([1.0, 2.0])
assert torch.load("best.pt")["rank"] == 0, "not rank 0's"
dist.destroy_process_group()
