"""Goes wrong on 2 ranks: hangs.
Fix: unsafe

Rank 0 waits twice in its branch, for ranks that never enter it.
"""

from datetime import timedelta

import torch.distributed as dist


def clean(names):
    if dist.get_rank() == 0:
        dist.barrier()  # expect: DL101
        print("cleaning", len(names))


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
clean(["a", "b"])
dist.barrier()
dist.destroy_process_group()
