"""Goes wrong on 2 ranks: fails with error 'NoneType' object has no attribute 'append'.
Fix: by hand

Rank 1 has no list to add to.
"""

from datetime import timedelta

import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
losses: list[float] | None = [] if dist.get_rank() == 0 else None
losses.append(0.5)  # expect: DL208
dist.barrier()
dist.destroy_process_group()
