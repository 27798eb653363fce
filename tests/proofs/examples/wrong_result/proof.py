"""Goes wrong on 2 ranks: wrong result with error ranks drew the same noise.
Fix: by hand

Every rank seeds alike, so that all add the same noise to different samples.
"""

from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
torch.manual_seed(0)
noise = torch.randn(4)  # expect: DL401
gathered = [torch.empty(4) for _ in range(dist.get_world_size())]
dist.all_gather(gathered, noise)
assert not torch.equal(*gathered), "ranks drew the same noise"
dist.destroy_process_group()
