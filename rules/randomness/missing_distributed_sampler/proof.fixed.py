"""Each rank trains on its part."""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo", timeout=timedelta(seconds=60))


def train() -> list[float]:
    data = torch.arange(8.0).unsqueeze(1)
    model = DistributedDataParallel(nn.Linear(1, 1))
    loader = DataLoader(data, batch_size=2, sampler=DistributedSampler(data))
    seen: list[float] = []
    for batch in loader:
        model(batch).sum().backward()
        seen += batch.flatten().tolist()
    return seen


parts: list[list[float]] = [[], []]
dist.all_gather_object(parts, train())
assert sorted(parts[0] + parts[1]) == list(range(8)), parts
dist.barrier()
dist.destroy_process_group()
