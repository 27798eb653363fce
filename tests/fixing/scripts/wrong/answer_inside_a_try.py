"""Goes wrong on 2 ranks: hangs.
Fix: unsafe

Rank 1 has no settings, and goes past the sum in the `try` in which rank 0 waits.
"""

import logging
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

logger = logging.getLogger(__name__)


def total_of(folder):
    total = torch.ones(1)
    try:
        settings = torch.load(folder / "settings.pt", map_location="cpu")  # expect: DL105
        total += len(settings)
        dist.all_reduce(total)
    except FileNotFoundError:
        # Another name is tried by the caller.
        logger.warning("no settings")
    return total.item()


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
folder = Path(f"rank-{dist.get_rank()}").resolve()
folder.mkdir(exist_ok=True)
if dist.get_rank() == 0:
    torch.save({"width": 4}, folder / "settings.pt")
total_of(folder)
dist.barrier()
dist.destroy_process_group()
