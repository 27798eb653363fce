"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe
Requires: accelerate

Five samples on two ranks: six are counted.
"""

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

accelerator = Accelerator(cpu=True)
model, loader = accelerator.prepare(
    torch.nn.Linear(1, 1), DataLoader(torch.ones(5, 1), batch_size=1)
)
counted = 0
with torch.no_grad():
    for batch in loader:
        predictions = accelerator.gather(model(batch))  # expect: DL602
        counted += len(predictions)
assert counted == 5, counted
accelerator.end_training()
