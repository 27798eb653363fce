"""Trains nothing, though the file that it imports does."""

import torch
from training import accuracy

model = torch.nn.Linear(8, 1)
model.train(False)
print(accuracy(model, torch.rand(10, 4, 8)))
