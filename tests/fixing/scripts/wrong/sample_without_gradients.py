"""Goes wrong on 2 ranks: fails with error AttributeError.

A sample is drawn from the network while it trains; under `no_grad` the wrapper may be passed by.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, batch):
        return self.layer(batch)

    def decode(self, start):
        return self.layer(start).argmax(-1)


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
decoder = DistributedDataParallel(Decoder())
decoder(torch.ones(1, 3)).sum().backward()
with torch.no_grad():
    tokens = decoder.decode(torch.ones(1, 3))  # expect: DL201
assert tokens.shape == (1,)
dist.destroy_process_group()
