import torch
from saving import keep

model = torch.nn.Linear(2, 2)
keep(model, "model.pt")
torch.save(model.state_dict(), "again.pt")
