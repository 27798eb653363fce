"""Goes wrong on 2 ranks: fails with error FileNotFoundError.

Both ranks see the lock, and both remove it.
"""

import time
from datetime import timedelta
from pathlib import Path

import torch.distributed as dist


def unlock(folder):
    lock = Path(folder) / "lock"
    dist.barrier()
    if lock.exists():
        time.sleep(0.3 + 0.3 * dist.get_rank())
        lock.unlink()  # expect: DL305


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
if dist.get_rank() == 0:
    Path("lock").touch()
unlock(".")
assert not Path("lock").exists()
dist.destroy_process_group()
