"""Goes wrong on 2 ranks: hangs.
Fix: by hand

Rank 0 waits in a barrier that rank 1 never reaches.
"""

from datetime import timedelta

import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
if dist.get_rank() == 0:
    dist.barrier()  # expect: DL101
dist.destroy_process_group()
