"""One process."""

import torch
from training import Loop

Loop(torch.nn.Linear(8, 1)).run(torch.rand(10, 4, 8))
