"""Goes wrong on 2 ranks: fails with error FileNotFoundError.
Fix: by hand

Rank 0 clears the old cache and fills a new one; rank 1 then clears the new one.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import torch.distributed as dist


@contextmanager
def main_process_first() -> Iterator[None]:
    """As accelerate's: the others wait before the body, rank 0 behind it."""
    if dist.get_rank() != 0:
        dist.barrier()
    yield
    if dist.get_rank() == 0:
        dist.barrier()


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
if dist.get_rank() == 0:
    Path("cache").mkdir()
dist.barrier()
with main_process_first():
    shutil.rmtree("cache")  # expect: DL306
    if dist.get_rank() == 0:
        Path("cache").mkdir()
        Path("cache", "tokens").write_text("1 2 3")
dist.barrier()
assert Path("cache", "tokens").read_text() == "1 2 3"
dist.destroy_process_group()
