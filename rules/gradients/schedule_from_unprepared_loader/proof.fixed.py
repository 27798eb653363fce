"""Goes wrong on 2 ranks: wrong result.
Fix: by hand
Requires: accelerate

The learning rate falls to zero.
"""

import torch
from accelerate import Accelerator
from torch.optim.lr_scheduler import LinearLR
from torch.utils.data import DataLoader

accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
loader = DataLoader(torch.ones(8, 1))
steps = len(loader)
scheduler = LinearLR(optimizer, start_factor=1.0, end_factor=0.0, total_iters=steps)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
for batch in loader:
    accelerator.backward(model(batch).sum())
    optimizer.step()
    optimizer.zero_grad()
    scheduler.step()
rate = optimizer.param_groups[0]["lr"]
assert rate == 0.0, rate
accelerator.end_training()
