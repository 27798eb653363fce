"""Goes wrong on 2 ranks: fails with error has no attribute 'policy'.

The argument of the unwrapping function is read from the wrapper.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class PolicyAndValue(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.policy = nn.Linear(4, 2)
        self.value = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.policy(x), self.value(x)


def unwrap_model(model: nn.Module) -> nn.Module:
    return model.module if isinstance(model, DistributedDataParallel) else model


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
model = DistributedDataParallel(PolicyAndValue())
policy = unwrap_model(model.policy)  # expect: DL203
assert policy.out_features == 2
dist.destroy_process_group()
