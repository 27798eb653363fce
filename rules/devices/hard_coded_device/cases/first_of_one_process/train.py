"""Trains a net."""

import torch


def batches_of(path):
    return torch.load(path)
