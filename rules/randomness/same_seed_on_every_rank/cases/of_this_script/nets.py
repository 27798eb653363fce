import torch


class Plain(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.build(width)

    def build(self, width):
        self.layer = torch.nn.Linear(width, width)

    def forward(self, batch):
        return self.layer(batch)
