"""Nobody knows what it does with the model."""

import torch
from spreading import spread
from training import Loop

Loop(spread(torch.nn.Linear(8, 1))).run(torch.rand(10, 4, 8))
