"""Goes wrong on 2 ranks: fails with error FileNotFoundError.

Both ranks remove the checkpoint of the step before.
"""

import os
import time
from datetime import timedelta

import torch.distributed as dist


def rotate(path):
    dist.barrier()
    time.sleep(0.3 * dist.get_rank())
    os.remove(path)  # expect: DL303
    dist.barrier()


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
if dist.get_rank() == 0:
    with open("step1.pt", "w") as file:
        file.write("weights")
rotate("step1.pt")
assert not os.path.exists("step1.pt")
dist.destroy_process_group()
