"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

The two ranks add the same noise in every step.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SEED = 7

dist.init_process_group("gloo", timeout=timedelta(seconds=60))


def main() -> list[torch.Tensor]:
    torch.manual_seed(SEED)  # expect: DL401
    model = nn.Linear(4, 1)
    model = DistributedDataParallel(model)
    drawn = []
    for _ in range(3):
        noise = torch.randn(2, 4)
        model(noise).sum().backward()
        drawn.append(noise)
    return drawn


own = torch.stack(main())
everyone = [torch.empty_like(own) for _ in range(dist.get_world_size())]
dist.all_gather(everyone, own)
assert not torch.equal(everyone[0], everyone[1]), "both ranks drew the same noise"
dist.barrier()
dist.destroy_process_group()
