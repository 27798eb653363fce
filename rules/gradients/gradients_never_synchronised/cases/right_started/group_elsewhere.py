"""The group is made in another file."""

import ranks
import torch
from training import Loop

ranks.start()
Loop(torch.nn.Linear(8, 1)).run(torch.rand(10, 4, 8))
