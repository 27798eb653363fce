"""Loaders of a whole data set, of which the script gives the one for training a DistributedSampler."""

import torch
from torch.utils.data import DataLoader, random_split
from torchvision.datasets import CIFAR10


def loaders_of(folder, size):
    all_of_it = CIFAR10(folder, train=True)
    alike = torch.Generator().manual_seed(0)
    seen, held_out = random_split(all_of_it, [45000, 5000], generator=alike)
    loader = DataLoader(seen, batch_size=size, shuffle=True)
    rest = DataLoader(held_out, batch_size=size)
    return loader, rest
