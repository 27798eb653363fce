"""Goes wrong on 2 ranks: wrong result.

Both processes take themselves for the main one.
"""

from datetime import timedelta

import torch
import torch.distributed as dist


def main() -> torch.Tensor:
    rank = dist.get_rank() if dist.is_initialized() else 0  # expect: DL509
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    mains = torch.tensor(1 if rank == 0 else 0)
    dist.all_reduce(mains)
    return mains


mains = main()
assert mains.item() == 1, f"{mains.item()} processes are the main one"
dist.destroy_process_group()
