"""Goes wrong on 2 ranks: fails.
Fix: unsafe
Requires: accelerate

Rank 1 has one positive value and rank 0 three: gloo ends the rank whose buffer is too small.
"""

import os

import torch
from accelerate import Accelerator

os.environ["ACCELERATE_USE_CPU"] = "true"
accelerator = Accelerator(cpu=True)
values = torch.tensor([1.0, 2.0, 3.0])
if accelerator.process_index == 1:
    values -= 2


def positive(values):
    kept = values[values > 0]
    return accelerator.gather(kept)  # expect: DL107


found = positive(values)
assert found[found > 0].tolist() == [1.0, 2.0, 3.0, 1.0], f"gathered {found}"
accelerator.end_training()
