"""Goes wrong on 2 ranks: hangs.
Fix: by hand

Rank 0 broadcasts while rank 1 waits in a barrier.
"""

from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))


def share(config):
    if dist.get_rank() == 0:
        dist.broadcast(config, 1)  # expect: DL102
        dist.barrier()
    else:
        dist.barrier()
        dist.broadcast(config, 1)


config = torch.full((4,), float(dist.get_rank()))
share(config)
assert config.eq(1).all(), f"rank {dist.get_rank()} has {config}"
dist.destroy_process_group()
