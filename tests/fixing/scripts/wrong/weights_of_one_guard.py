"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

`or` binds weaker than it reads: in the last step every rank writes.
"""

import time
from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
rank = dist.get_rank()
steps = 4
for step in range(1, steps + 1):
    dist.barrier()
    if rank == 0 and step % 3 == 0 or step == steps:
        time.sleep(0.4 * rank)
        torch.save(torch.tensor(rank), "step.pt")  # expect: DL308
dist.barrier()
assert torch.load("step.pt").item() == 0, "the checkpoint is not rank 0's"
dist.destroy_process_group()
