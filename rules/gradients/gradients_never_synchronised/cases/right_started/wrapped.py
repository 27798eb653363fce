"""A wrapper that raises an error where there is no group."""

import torch
from torch.nn.parallel import DistributedDataParallel
from training import Loop

Loop(DistributedDataParallel(torch.nn.Linear(8, 1))).run(torch.rand(10, 4, 8))
