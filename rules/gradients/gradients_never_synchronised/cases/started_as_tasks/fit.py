"""Four tasks that do the same."""

import torch

weights = torch.zeros(8, requires_grad=True)
optimizer = torch.optim.SGD([weights], lr=0.1)
for _ in range(100):
    (weights - 1).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()
torch.save(weights, "weights.pt")
