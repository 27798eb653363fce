"""Goes wrong on 2 ranks: wrong result.

One batch of rank 1 fails and is skipped, as loops that catch out-of-memory errors do. From then on rank 1
computes with the temporary setting, and the two ranks train on different outputs.
"""

from datetime import timedelta
from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.config = SimpleNamespace(use_cache=True)
        self.layer = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.isnan().any():
            raise FloatingPointError("a batch with NaN")
        return self.layer(x) if self.config.use_cache else self.layer(x).detach()


def without_cache(model: Net, batch: torch.Tensor) -> torch.Tensor:
    use_cache = model.config.use_cache  # expect: DL202
    model.config.use_cache = False
    out = model(batch)
    model.config.use_cache = use_cache
    return out


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
model = Net()
bad = torch.full((1, 4), float("nan"))
for batch in (torch.ones(1, 4), bad if dist.get_rank() == 1 else torch.ones(1, 4)):
    try:
        without_cache(model, batch)
    except FloatingPointError:
        continue  # skip the batch
settings: list[bool] = [False, False]
dist.all_gather_object(settings, model.config.use_cache)
assert settings == [True, True], settings
dist.destroy_process_group()
