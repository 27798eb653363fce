"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

Each rank takes its neighbour's GPU as well. The count is that of a machine with two GPUs.
"""

from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
torch.cuda.device_count = lambda: 2  # type: ignore[assignment]


def used(own: int) -> list[int]:
    dist.barrier()
    if torch.cuda.device_count() > 1:  # expect: DL508
        return [own, (own + 1) % torch.cuda.device_count()]
    return [own]


every: list[list[int]] = [[], []]
dist.all_gather_object(every, used(dist.get_rank()))
assert not set(every[0]) & set(every[1]), every
dist.destroy_process_group()
