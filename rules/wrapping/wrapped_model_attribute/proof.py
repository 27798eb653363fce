"""Goes wrong on 2 ranks: fails with error has no attribute 'classes'.

The model's own attribute is read through DistributedDataParallel.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.classes = 3
        self.layer = nn.Linear(4, self.classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
model = DistributedDataParallel(Net())
logits = model(torch.ones(2, 4))
assert logits.shape == (2, model.classes)  # expect: DL201
dist.destroy_process_group()
