"""Gives the Trainer a loader that is divided between the ranks."""

from lightning.pytorch import LightningDataModule
from torch.utils.data import DataLoader, DistributedSampler

from pictures import Pictures


class Loaders(LightningDataModule):
    def __init__(self, folder: str):
        super().__init__()
        self.folder = folder

    def test_dataloader(self):
        data = Pictures(self.folder)
        return DataLoader(data, sampler=DistributedSampler(data, shuffle=False))
