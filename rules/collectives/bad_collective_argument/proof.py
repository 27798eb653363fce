"""Goes wrong on 2 ranks: wrong result.

The list holds one tensor twice: both entries are what the last rank sent.
"""

from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
value = torch.full((1,), float(dist.get_rank()))


def gather(value):
    gathered = dist.get_world_size() * [torch.zeros(1)]  # expect: DL108
    dist.all_gather(gathered, value)
    return torch.cat(gathered)


assert gather(value).tolist() == [0.0, 1.0], gather(value)
dist.destroy_process_group()
