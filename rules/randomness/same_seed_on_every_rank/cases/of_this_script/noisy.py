import torch
from nets import Plain


class NoisyLayer(torch.nn.Linear):
    def forward(self, batch):
        return super().forward(batch) + torch.randn(batch.shape)


class Noisy(Plain):
    def build(self, width):
        self.layer = NoisyLayer(width, width)
