"""Goes wrong on 2 ranks: wrong result.
Requires: accelerate

Four batches are accumulated, and their gradients are to be synchronised once; with a list they are each time.
"""

import torch
from accelerate import Accelerator
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
model = accelerator.prepare(torch.nn.Linear(1, 1))
reduced = []


def counting(group, bucket):
    reduced.append(bucket.index())
    return allreduce_hook(group, bucket)


model.register_comm_hook(None, counting)
for _ in range(4):
    with accelerator.accumulate([model]):  # expect: DL603
        accelerator.backward(model(torch.ones(1, 1)).mean())
assert len(reduced) == 1, reduced
accelerator.end_training()
