import torch
from torch.utils.data import DistributedSampler


def read():
    return torch.zeros(4, 2)


def divided(rows):
    """Of the training that this was copied with; nothing here calls it."""
    return DistributedSampler(rows)
