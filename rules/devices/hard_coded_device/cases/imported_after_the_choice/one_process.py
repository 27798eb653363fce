import torch
from parts.memory import gpu

model = make_model().to(gpu)
