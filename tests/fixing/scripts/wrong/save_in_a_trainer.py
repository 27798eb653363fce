"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

The trainer's method writes on every rank; rank 1 comes last and leaves its own numbers.
"""

import time
from datetime import timedelta

import torch
import torch.distributed as dist


class Trainer:
    def __init__(self, folder):
        self.folder = folder
        self.state = {"weight": torch.full((2,), float(dist.get_rank()))}

    def step(self):
        loss = torch.ones(1)
        dist.all_reduce(loss)
        return loss.item()

    def keep(self):
        dist.barrier()
        time.sleep(0.5 * dist.get_rank())
        torch.save(self.state, self.folder + "/last.pt")  # expect: DL301
        dist.barrier()


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
trainer = Trainer(".")
trainer.step()
trainer.keep()
kept = torch.load("./last.pt")
assert kept["weight"].eq(0).all(), f"the checkpoint is not rank 0's: {kept}"
dist.destroy_process_group()
