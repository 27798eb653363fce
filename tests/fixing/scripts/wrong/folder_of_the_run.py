"""Goes wrong on 2 ranks: fails with error FileExistsError.

Both ranks make the folder of the run.
"""

import os
import time
from datetime import timedelta

import torch.distributed as dist


def prepare(folder):
    dist.barrier()
    time.sleep(0.3 * dist.get_rank())
    os.makedirs(os.path.join(folder, "checkpoints"))  # expect: DL305
    return folder


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
assert os.path.isdir(prepare("run"))
dist.destroy_process_group()
