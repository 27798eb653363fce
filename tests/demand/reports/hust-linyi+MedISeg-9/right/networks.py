import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
WEIGHTS = torch.tensor([0.3, 0.7]).to(DEVICE)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 3, padding=1)

    def forward(self, x):
        return self.conv(x) * WEIGHTS.view(1, 2, 1, 1)
