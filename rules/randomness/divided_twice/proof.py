"""Goes wrong on 2 ranks: wrong result.
Fix: by hand

Each rank gets the half of its half.
"""

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.utils.data import DataLoader, DistributedSampler

accelerator = Accelerator(cpu=True)


def epoch() -> list[float]:
    data = torch.arange(16.0)
    loader = DataLoader(data, batch_size=2, sampler=DistributedSampler(data))
    loader = accelerator.prepare(loader)  # expect: DL408
    return [value for batch in loader for value in batch.tolist()]


parts: list[list[float]] = [[], []]
dist.all_gather_object(parts, epoch())
assert sorted(parts[0] + parts[1]) == list(range(16)), parts
dist.barrier()
dist.destroy_process_group()
