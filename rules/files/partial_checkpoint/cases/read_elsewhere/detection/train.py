import torch
from torch import nn

# Another task: nothing says that it reads what recognition has written.
model = nn.DataParallel(nn.Linear(2, 2))
model.load_state_dict(torch.load("detector.pth"))
