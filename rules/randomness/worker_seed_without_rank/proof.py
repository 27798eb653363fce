"""Goes wrong on 2 ranks: wrong result.
Fix: by hand

Both ranks draw the same number for their different samples.
"""

from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Noise(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return np.random.rand()


def seed_worker(worker_id):
    np.random.seed(7 + worker_id)  # expect: DL406


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
data = Noise()
sampler = DistributedSampler(data)
loader = DataLoader(data, sampler=sampler, num_workers=1, worker_init_fn=seed_worker)
drawn = next(iter(loader))
every = [torch.zeros_like(drawn) for _ in range(2)]
dist.all_gather(every, drawn)
assert every[0] != every[1], every
dist.destroy_process_group()
