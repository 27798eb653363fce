"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe
Requires: accelerate

Two batches are accumulated. Clipped in between, the first counts less than the second.
"""

import torch
from accelerate import Accelerator

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = torch.nn.Linear(2, 1, bias=False)
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
model, optimizer = accelerator.prepare(model, optimizer)
before = accelerator.unwrap_model(model).weight.detach().clone()
for batch in (torch.tensor([[8.0, 0.0]]), torch.tensor([[0.0, 8.0]])):
    with accelerator.accumulate(model):
        accelerator.backward(model(batch).mean())
        accelerator.clip_grad_norm_(model.parameters(), 1.0)  # expect: DL604
        optimizer.step()
        optimizer.zero_grad()
change = (accelerator.unwrap_model(model).weight.detach() - before).abs().flatten().tolist()
assert abs(change[0] - change[1]) < 1e-5, change
accelerator.end_training()
