"""The loaders of a data module, below an abstract one."""

from abc import ABC, abstractmethod

from torch.utils.data import DataLoader, DistributedSampler


class Module(ABC):
    @abstractmethod
    def train_dataloader(self): ...

    @abstractmethod
    def val_dataloader(self): ...


class Images(Module):
    # the_well 215f55d the_well/data/datamodule.py:255, without the call
    def __init__(self, images, held_out, shuffle=True):
        self.images, self.held_out, self.shuffle = images, held_out, shuffle

    def train_dataloader(self):
        sampler = DistributedSampler(self.images, shuffle=self.shuffle)  # expect: DL403
        return DataLoader(self.images, sampler=sampler)

    def val_dataloader(self):
        return DataLoader(self.held_out, sampler=DistributedSampler(self.held_out))
