"""Goes wrong on 2 ranks: fails with error on the same device.

The model gives its output on its last device. Fake tensors stand for two GPUs.
"""

from types import SimpleNamespace

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

accelerator = SimpleNamespace(device=torch.device("cuda:0"))


class Spread:
    def generate(self, prompts: torch.Tensor) -> torch.Tensor:
        return prompts.to("cuda:1")


def weights_of(model: Spread, prompts: torch.Tensor) -> torch.Tensor:
    table = torch.ones(16, device=accelerator.device)
    ids = model.generate(prompts)
    # `table[ids]` is the same; fake tensors take it with a CUDA build only.
    return table.index_select(0, ids)  # expect: DL506


with FakeTensorMode():
    weights_of(Spread(), torch.zeros(4, dtype=torch.long, device="cuda:0"))
