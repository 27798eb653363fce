"""Right on 2 ranks.

Every rank draws its own noise.
"""

from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
torch.manual_seed(1000 + dist.get_rank())
noise = torch.randn(4)
gathered = [torch.empty(4) for _ in range(dist.get_world_size())]
dist.all_gather(gathered, noise)
assert not torch.equal(*gathered), "ranks drew the same noise"
dist.destroy_process_group()
