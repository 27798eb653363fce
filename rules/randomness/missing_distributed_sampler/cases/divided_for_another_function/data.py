"""Loaders that give ranks different samples: by the data set, by a sampler on several ranks, by what is drawn, or none."""

import random

import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, IterableDataset
from torchvision.datasets import FakeData


class Dealt(Dataset):
    def __init__(self, names):
        self.names = names[dist.get_rank() :: dist.get_world_size()]

    def __len__(self):
        return len(self.names)

    def __getitem__(self, at):
        return self.names[at]


class Drawn(Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, at):
        return random.random()


class Stream(IterableDataset):
    def __iter__(self):
        yield from (random.random() for _ in range(1000))


class Lines(Dataset):
    def __init__(self, lines):
        self.lines = lines

    def __getitem__(self, at):
        return self.lines[at]


def dealt(names):
    return DataLoader(Dealt(names), batch_size=8)


def drawn():
    return DataLoader(Drawn(), batch_size=8)


def stream():
    return DataLoader(Stream(), batch_size=8)


def made_up():
    return DataLoader(FakeData(), batch_size=8)


def chosen(lines, samplers):
    if dist.is_initialized():
        return DataLoader(Lines(lines), batch_sampler=samplers(lines))
    return DataLoader(Lines(lines), batch_size=8, shuffle=True)
