"""Goes wrong on 2 ranks: hangs.
Fix: unsafe

DDP sends the buffers of rank 0 to all ranks before the forward; rank 1 is in another collective.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def evaluate(batch):
    model = DistributedDataParallel(torch.nn.BatchNorm1d(4)).eval()
    if dist.get_rank() == 0:
        output = model(batch)  # expect: DL106
        print("mean", output.mean().item())


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
evaluate(torch.ones(2, 4))
total = torch.ones(1)
dist.all_reduce(total)
assert total.item() == 2
dist.barrier()
dist.destroy_process_group()
