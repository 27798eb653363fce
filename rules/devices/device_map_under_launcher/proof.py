"""Goes wrong on 2 ranks: fails with error in any distributed mode.
Fix: unsafe
Requires: accelerate

`prepare()` refuses the model. The map is the one that two GPUs would give.
"""

from __future__ import annotations

import torch
from accelerate import Accelerator
from torch import nn


class Net(nn.Sequential):
    hf_device_map: dict[str, int]

    @classmethod
    def from_pretrained(cls, name: str, device_map: str | dict[str, int]) -> Net:
        net = cls(nn.Linear(2, 2), nn.Linear(2, 2))
        net.hf_device_map = {"0": 0, "1": 1} if isinstance(device_map, str) else device_map
        return net


def train(accelerator: Accelerator) -> None:
    model = Net.from_pretrained("tiny", device_map="auto")  # expect: DL507
    model = accelerator.prepare(model)
    accelerator.backward(model(torch.ones(2, 2)).sum())
    accelerator.wait_for_everyone()
    # What is freed when the group is gone takes the group's threads with it, and may wait for them for ever.
    accelerator.free_memory()


accelerator = Accelerator(cpu=True)
train(accelerator)
accelerator.end_training()
