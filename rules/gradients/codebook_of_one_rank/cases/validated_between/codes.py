"""A codebook that is written anew in each step."""

import torch
from torch import nn


class Codes(nn.Module):
    # AiT 3527d50 vae/models/VQVAE.py:116
    def __init__(self, codes, width, decay):
        super().__init__()
        self.decay = decay
        self.register_buffer("table", torch.randn(codes, width))
        self.register_buffer("cluster_size", torch.zeros(codes))
        self.register_buffer("sums", torch.zeros(codes, width))

    def forward(self, used, x):
        if self.training:
            self.cluster_size = self.cluster_size * self.decay + (1 - self.decay) * used.sum(0)  # expect: DL625
            self.sums = self.sums * self.decay + (1 - self.decay) * (used.t() @ x)
            self.table = self.sums / self.cluster_size.unsqueeze(1)
        return used @ self.table
