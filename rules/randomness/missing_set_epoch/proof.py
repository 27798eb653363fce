"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

The second epoch repeats the order of the first.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo", timeout=timedelta(seconds=60))


def train() -> list[list[int]]:
    data = torch.arange(32)
    sampler = DistributedSampler(data)  # expect: DL403
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    seen = []
    for epoch in range(2):
        order = []
        for batch in loader:
            order += batch.tolist()
        print(f"epoch {epoch}: {order}")
        seen.append(order)
    return seen


first, second = train()
assert first != second, "both epochs have the same order"
dist.barrier()
dist.destroy_process_group()
