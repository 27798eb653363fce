"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe
Requires: accelerate

Ten steps are asked for, and the learning rate is zero after five.
"""

import torch
from accelerate import Accelerator


class Settings:
    max_train_steps = 10


args = Settings()
accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
scheduler = torch.optim.lr_scheduler.LinearLR(
    optimizer,
    start_factor=1.0,
    end_factor=0.0,
    total_iters=args.max_train_steps,  # expect: DL613
)
model, optimizer, scheduler = accelerator.prepare(model, optimizer, scheduler)
rates = []
for _ in range(args.max_train_steps):
    rates.append(scheduler.get_last_lr()[0])
    accelerator.backward(model(torch.ones(1, 1)).mean())
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
assert all(rate > 0 for rate in rates), rates
accelerator.end_training()
