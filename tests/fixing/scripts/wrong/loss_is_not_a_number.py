"""Goes wrong on 2 ranks: hangs.
Fix: unsafe

Rank 1 skips a step whose loss is not finite; rank 0 waits in the sum.
"""

import math
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train(net, batch):
    net = DistributedDataParallel(net)
    for _ in range(2):
        loss = net(batch).mean()
        if math.isnan(loss.item()):  # expect: DL103
            return 0
        dist.all_reduce(loss)
    return 2


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
value = float("nan") if dist.get_rank() == 1 else 1.0
train(torch.nn.Linear(2, 1), torch.full((1, 2), value))
dist.barrier()
dist.destroy_process_group()
