"""Loaders out of dicts of settings, records and objects, and what they come to is put together before it decides."""

from typing import NamedTuple

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


class Split(NamedTuple):
    loader: DataLoader
    name: str


def split(data, size):
    settings = {"batch_size": size, "pin_memory": True}
    if dist.is_initialized():
        settings.update({"sampler": DistributedSampler(data)})
    return Split(DataLoader(data, **settings), "val")


class Loaders:
    def __init__(self, data):
        self.data = data

    def get(self):
        return split(self.data, 8)


def loaders_of(data):
    return Loaders(data)


def evaluate(model, loader):
    model.eval()
    hits = torch.zeros(2)
    with torch.no_grad():
        for images, labels in loader:
            hits += torch.tensor([(model(images).argmax(1) == labels).sum(), len(labels)])
    here = (hits[0] / hits[1]).item()
    dist.all_reduce(hits)
    return {"accuracy": (hits[0] / hits[1]).item(), "here": here}


def train(model, data):
    best = 0.0
    of_validation = loaders_of(data).get()
    for _ in range(10):
        stats = evaluate(model, of_validation.loader)
        if stats.get("accuracy") > best:
            best = stats["accuracy"]
            torch.save(model.state_dict(), f"{of_validation.name}-{dist.get_rank()}.pt")
