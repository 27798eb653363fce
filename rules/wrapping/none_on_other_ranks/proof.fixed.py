"""The rank without a list does not add to it."""

from datetime import timedelta

import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
losses: list[float] | None = [] if dist.get_rank() == 0 else None
if losses is not None:
    losses.append(0.5)
dist.barrier()
dist.destroy_process_group()
