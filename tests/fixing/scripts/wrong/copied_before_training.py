"""Goes wrong on 2 ranks: fails with error FileExistsError.
Fix: unsafe

Each rank sees that the copy is missing, and `open(..., 'x')` lets one of them make it.
"""

import os
import time
from datetime import timedelta

import torch.distributed as dist


def fetch(path):
    dist.barrier()
    if not os.path.exists(path):
        time.sleep(0.5)
        os.mkdir(path)  # expect: DL305
    dist.barrier()


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
fetch("data")
dist.destroy_process_group()
