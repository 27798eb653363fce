"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

The parts of the two ranks overlap, and samples are left out.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.utils.data import DistributedSampler

SEED = 7

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
data = torch.arange(16)


def part() -> list[int]:
    sampler = DistributedSampler(data, seed=SEED + dist.get_rank())  # expect: DL405
    return list(sampler)


parts: list[list[int]] = [[], []]
dist.all_gather_object(parts, part())
assert sorted(parts[0] + parts[1]) == list(range(16)), parts
dist.destroy_process_group()
