import torch
from torch import nn


class Net(nn.Module):
    # TransReID dec5504 model/make_model.py:205
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def load_param(self, path):
        state = self.state_dict()
        for name, value in torch.load(path).items():
            state[name.replace("module.", "")].copy_(value)
