"""Goes wrong on 2 ranks: hangs.
Fix: unsafe

The average that is to be logged is a collective, and only rank 0 asks for it.
"""

from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
rank = dist.get_rank()
loss = torch.tensor([float(rank)])
for step in range(3):
    if rank == 0:
        dist.all_reduce(loss)  # expect: DL101
        print("step", step, loss.item())
dist.barrier()
dist.destroy_process_group()
