import torch


def read():
    return torch.zeros(4, 2)
