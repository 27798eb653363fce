"""Bars that are kept under a name, and show no passes over a sampler's data."""

import torch
from torch.utils.data import DataLoader, DistributedSampler
from tqdm import tqdm, trange


def parts_behind_a_bar(model, data, parts):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    first = next(iter(loader))
    while parts:
        passing = tqdm(parts.pop(), desc="files")
        for path in passing:
            model(torch.load(path)).sum().backward()
    return first


class KeepsFiles:
    def __init__(self, model, data):
        self.model, self.step = model, 0
        self.data = data

    def run(self, steps):
        while self.step < steps:
            for path in tqdm(self.data):
                self.model(torch.load(path)).sum().backward()
                self.step += 1


def one_pass_beside_files(model, data, files):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        model(batch).sum().backward()
    KeepsFiles(model, files).run(1000)


def steps_of_a_kept_bar(model, data, args):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    turns = trange(0, args.steps)
    for step in turns:
        batch = next(iter(loader))
        model(batch).sum().backward()
