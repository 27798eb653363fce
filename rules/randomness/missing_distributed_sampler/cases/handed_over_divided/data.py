"""Makes loaders, and hands them over in dicts, records and objects; each is divided, or may be."""

from dataclasses import dataclass

from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import CIFAR10


def by_phase(folder):
    sets = {"train": CIFAR10(folder, train=True), "val": CIFAR10(folder, train=False)}
    loaders = {}
    for phase in ("train", "val"):
        loaders[phase] = DataLoader(sets[phase], sampler=DistributedSampler(sets[phase]))
    return loaders, len(sets)


def with_settings(folder):
    data = CIFAR10(folder, train=True)
    settings = {"batch_size": 8}
    divided = {"sampler": DistributedSampler(data)}
    settings.update(divided)
    return {
        "train": DataLoader(data, **settings),
        "val": DataLoader(CIFAR10(folder, train=False), batch_size=8),
    }


def with_unknown_settings(folder, settings):
    settings.update(given())
    return {"train": DataLoader(CIFAR10(folder, train=True), **settings)}


def updated(folder):
    loaders = {"train": DataLoader(CIFAR10(folder, train=True), batch_size=8)}
    loaders.update(given())
    return loaders


class Data:
    def __init__(self, folder):
        self.folder, self.kept = folder, None

    def for_training(self):
        data = CIFAR10(self.folder)
        return DataLoader(data, sampler=DistributedSampler(data))

    def for_all(self):
        return DataLoader(CIFAR10(self.folder), batch_size=8)

    def set_up(self):
        data = CIFAR10(self.folder)
        self.kept = DataLoader(data, sampler=DistributedSampler(data))

    @property
    def shuffled(self):
        data = CIFAR10(self.folder)
        return DataLoader(data, sampler=DistributedSampler(data))


@dataclass
class Split:
    loader: DataLoader
    sampler: DistributedSampler


def split(folder):
    data = CIFAR10(folder)
    sampler = DistributedSampler(data)
    return Split(DataLoader(data, sampler=sampler), sampler)
