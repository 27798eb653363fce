"""A codebook whose averages are bound anew."""

import torch
from torch import nn


class Codes(nn.Module):
    def __init__(self, codes, width):
        super().__init__()
        self.register_buffer("table", torch.randn(codes, width))
        self.register_buffer("cluster_size", torch.zeros(codes))
        self.register_buffer("sums", torch.zeros(codes, width))

    def forward(self, used, x):
        self.cluster_size = self.cluster_size * 0.99 + 0.01 * used.sum(0)  # expect: DL625
        self.sums = self.sums * 0.99 + 0.01 * (used.t() @ x)
        self.table = self.sums / self.cluster_size[:, None]
        return used @ self.table


class Codec(nn.Module):
    def __init__(self):
        super().__init__()
        self.codes = Codes(1024, 64)
