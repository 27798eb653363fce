"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

Each rank names the folder by its own clock; rank 1 looks where rank 0 has not written.
"""

import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
rank = dist.get_rank()
time.sleep(1.5 * rank)
folder = os.path.join("runs", time.strftime("%H-%M-%S"))
os.makedirs(folder, exist_ok=True)  # expect: DL304
if rank == 0:
    torch.save(torch.ones(1), os.path.join(folder, "start.pt"))
dist.barrier()
assert os.path.exists(os.path.join(folder, "start.pt")), f"{folder} is not rank 0's"
dist.destroy_process_group()
