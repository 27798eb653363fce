"""Goes wrong on 2 ranks: wrong result.
Fix: by hand

Rank 0's share gets better, rank 1's worse: one keeps the new checkpoint and the other does not.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo", timeout=timedelta(seconds=60))


def validate(losses):
    sampler = DistributedSampler(losses, shuffle=False)
    loader = DataLoader(losses, batch_size=1, sampler=sampler)
    total = torch.zeros(())
    for loss in loader:
        total += loss.squeeze()
    dist.all_reduce(total, op=dist.ReduceOp.SUM)
    total /= dist.get_world_size()
    return total.item()


best, kept = 3.5, []
for epoch, losses in enumerate([[1.0, 2.0, 1.0, 2.0]]):
    loss = validate(torch.tensor(losses))
    if loss < best:  # expect: DL601
        best = loss
        kept.append(epoch)
every = [None, None]
dist.all_gather_object(every, kept)
assert every[0] == every[1], every
dist.destroy_process_group()
