"""Makes loaders of points, and of what is held out of them."""

import torch
from torch.utils.data import DataLoader, TensorDataset, random_split


def points(number):
    turn = torch.randn(8, 8, generator=torch.Generator().manual_seed(0))
    return torch.arange(number * 8.0).reshape(number, 8) @ turn


def base_of():
    alike = torch.Generator().manual_seed(0)

    return torch.randn(8, 8, generator=alike)


def loaders_of(number, size):
    base = base_of()
    data = TensorDataset(points(number) @ base)
    seen, rest = random_split(data, [number - 100, 100])  # expect: DL405
    return DataLoader(seen, batch_size=size, shuffle=True), DataLoader(rest, batch_size=size)
