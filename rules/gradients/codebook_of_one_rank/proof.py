"""Goes wrong on 2 ranks: wrong result.
Fix: by hand

Rank 0's samples are ones and rank 1's are threes; the one code there is becomes the mean of rank 0's.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Codes(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self.register_buffer("embed", torch.zeros(1, 1))
        self.register_buffer("cluster_size", torch.zeros(1))
        self.register_buffer("embed_avg", torch.zeros(1, 1))

    def forward(self, x):
        counts, sums = torch.tensor([float(len(x))]), x.sum(0, keepdim=True)
        self.cluster_size.data.mul_(0.5).add_(counts, alpha=0.5)  # expect: DL625
        self.embed_avg.data.mul_(0.5).add_(sums, alpha=0.5)
        self.embed.data.copy_(self.embed_avg / self.cluster_size[:, None])
        return self.scale * (x - self.embed)


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
codes = DistributedDataParallel(Codes())
samples = torch.full((4, 1), 1.0 + 2 * dist.get_rank())
for _ in range(3):
    codes(samples).mean().backward()
codes(samples)
if dist.get_rank() == 0:
    assert torch.allclose(codes.module.embed, torch.tensor(2.0)), codes.module.embed
dist.destroy_process_group()
