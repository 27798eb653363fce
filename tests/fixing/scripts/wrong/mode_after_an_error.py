"""Goes wrong on 2 ranks: wrong result.

Where drawing a sample fails, rank 1 goes on with the setting for samples.
"""

from datetime import timedelta
from types import SimpleNamespace

import torch
import torch.distributed as dist


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.config = SimpleNamespace(use_cache=False)
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, batch):
        return self.layer(batch)


def sample(net, batch):
    previous = net.config.use_cache  # expect: DL202
    net.config.use_cache = True
    drawn = net(batch)
    net.config.use_cache = previous
    return drawn


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
net = Net()
batch = torch.ones(1, 2) if dist.get_rank() == 0 else torch.ones(1, 3)
try:
    sample(net, batch)
except RuntimeError as error:
    print("no sample:", error)
cached = torch.tensor([float(net.config.use_cache)])
dist.all_reduce(cached)
assert cached.item() == 0, "a rank goes on with the setting for samples"
dist.destroy_process_group()
