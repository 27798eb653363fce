"""The proof of DL408, repaired by hand: accelerate alone divides the data."""

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.utils.data import DataLoader

accelerator = Accelerator(cpu=True)


def epoch() -> list[float]:
    data = torch.arange(16.0)
    loader = DataLoader(data, batch_size=2, shuffle=True)
    loader = accelerator.prepare(loader)
    return [value for batch in loader for value in batch.tolist()]


parts: list[list[float]] = [[], []]
dist.all_gather_object(parts, epoch())
assert sorted(parts[0] + parts[1]) == list(range(16)), parts
dist.barrier()
dist.destroy_process_group()
