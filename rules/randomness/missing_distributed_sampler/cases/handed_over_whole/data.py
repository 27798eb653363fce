"""Makes loaders, and hands them over in dicts, records and objects; none of them is divided."""

from dataclasses import dataclass

from torch.utils.data import DataLoader
from torchvision.datasets import CIFAR10


def by_phase(folder):
    sets = {"train": CIFAR10(folder, train=True), "val": CIFAR10(folder, train=False)}
    loaders = {}
    for phase in ("train", "val"):
        loaders[phase] = DataLoader(sets[phase], batch_size=8)  # expect: DL404
    return loaders, len(sets)


def with_settings(folder):
    settings = {"batch_size": 8}
    machine = {"num_workers": 2, "pin_memory": True}
    settings.update(machine)
    return {
        "train": DataLoader(CIFAR10(folder, train=True), **settings),  # expect: DL404
        "val": DataLoader(CIFAR10(folder, train=False), **settings),
    }


class Data:
    def __init__(self, folder):
        self.folder, self.kept = folder, None

    def for_training(self):
        return DataLoader(CIFAR10(self.folder), batch_size=8, shuffle=True)  # expect: DL404

    def set_up(self):
        self.kept = DataLoader(CIFAR10(self.folder), batch_size=8, shuffle=True)  # expect: DL404

    @property
    def shuffled(self):
        return DataLoader(CIFAR10(self.folder), batch_size=4, shuffle=True)  # expect: DL404


@dataclass
class Split:
    loader: DataLoader
    size: int = 8


def split(folder):
    return Split(DataLoader(CIFAR10(folder), batch_size=2, shuffle=True))  # expect: DL404
