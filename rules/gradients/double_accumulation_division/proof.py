"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe
Requires: accelerate

Two batches with gradient 1 are accumulated, and the weight moves by a half instead of one.
"""

import torch
from accelerate import Accelerator

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = torch.nn.Linear(1, 1, bias=False)
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
with torch.no_grad():
    model.weight.fill_(0.0)
model, optimizer = accelerator.prepare(model, optimizer)
for _ in range(2):
    with accelerator.accumulate(model):
        loss = model(torch.ones(1, 1)).mean() / accelerator.gradient_accumulation_steps
        accelerator.backward(loss)  # expect: DL606
        optimizer.step()
        optimizer.zero_grad()
weight = accelerator.unwrap_model(model).weight.item()
assert weight == -1.0, weight
accelerator.end_training()
