"""Makes loaders in the ways in which programs hand them to another file."""

from dataclasses import dataclass

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def with_settings(training, validation, size):
    common = {"batch_size": size, "pin_memory": True}
    settings = dict(common)
    settings["sampler"] = DistributedSampler(training)
    of_validation = {**common, "sampler": DistributedSampler(validation, shuffle=False)}
    return DataLoader(training, **settings), DataLoader(validation, **of_validation)


def with_settings_of_training(training, validation, size):
    settings = {"batch_size": size}
    of_training = dict(batch_size=size, num_workers=2)
    of_training.update(sampler=DistributedSampler(training))
    return DataLoader(training, **of_training), DataLoader(validation, **settings)


class Loaders:
    def __init__(self, training, validation):
        self.training, self.validation = training, validation

    def for_training(self):
        return DataLoader(self.training, sampler=DistributedSampler(self.training))

    def for_validation(self):
        return DataLoader(self.validation, sampler=DistributedSampler(self.validation))

    def for_all(self):
        return DataLoader(self.validation, batch_size=8)


def loaders_of(sets):
    return Loaders(sets["train"], sets["val"])


@dataclass
class Split:
    loader: DataLoader
    sampler: DistributedSampler | None = None

    def begin(self, epoch):
        if self.sampler is not None:
            self.sampler.set_epoch(epoch)


def split(data, divided=True):
    sampler = DistributedSampler(data) if divided and dist.is_initialized() else None
    return Split(DataLoader(data, sampler=sampler), sampler)


def by_phase(sets):
    loaders = {phase: DataLoader(data) for phase, data in sets.items()}
    return loaders


class Kept:
    def __init__(self, training, validation):
        self.sets = {"train": training, "val": validation}
        self.loader_val, self.loader_all = None, None

    def set_up(self):
        validation = self.sets["val"]
        self.loader_val = DataLoader(validation, sampler=DistributedSampler(validation))
        self.loader_all = DataLoader(validation)
