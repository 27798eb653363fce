"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

The predictions are the same on all ranks, and each writes them; rank 1 is still at it when rank 0 reads.
"""

import pickle
import time
from datetime import timedelta

import torch
import torch.distributed as dist


class Slow:
    def __init__(self, rank):
        self.rank = rank

    def __getstate__(self):
        time.sleep(self.rank)
        return {"rank": self.rank}


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
rank = dist.get_rank()
dist.barrier()
with open("predictions.pkl", "wb") as file:  # expect: DL301
    pickle.dump(Slow(rank), file)
dist.barrier()
with open("predictions.pkl", "rb") as stored:
    found = pickle.load(stored)
assert found.rank == 0, "the predictions are not rank 0's"
dist.destroy_process_group()
