"""Goes wrong on 2 ranks: fails with error FileNotFoundError.

Both ranks clear the folder of samples.
"""

import os
import shutil
import time
from datetime import timedelta

import torch.distributed as dist


def clear(folder):
    dist.barrier()
    time.sleep(0.3 * dist.get_rank())
    shutil.rmtree(folder)  # expect: DL303
    dist.barrier()


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
if dist.get_rank() == 0:
    os.mkdir("samples")
clear("samples")
dist.destroy_process_group()
