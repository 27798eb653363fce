"""Goes wrong on 2 ranks: fails with error FileNotFoundError.

Rank 1 is a moment slower and finds nothing left to remove.
"""

import shutil
import time
from datetime import timedelta
from pathlib import Path

import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
rank = dist.get_rank()
if rank == 0:
    Path("checkpoint-1").mkdir()
    Path("checkpoint-1", "model.pt").write_text("old")
dist.barrier()
time.sleep(0.5 * rank)
shutil.rmtree("checkpoint-1")  # expect: DL303
dist.barrier()
dist.destroy_process_group()
