import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, IterableDataset


class RandomCameraIterableDataset(IterableDataset):
    def __init__(self, batch_size):
        self.batch_size = batch_size

    def __iter__(self):
        while True:
            yield {}

    def collate(self, batch):
        elevation = torch.rand(self.batch_size) * 80 - 10
        azimuth = torch.rand(self.batch_size) * 360
        distance = torch.rand(self.batch_size) * 0.5 + 1.5
        return {"elevation": elevation, "azimuth": azimuth, "distance": distance}


class RandomCameraDataModule(pl.LightningDataModule):
    def __init__(self, batch_size):
        super().__init__()
        self.batch_size = batch_size

    def train_dataloader(self):
        dataset = RandomCameraIterableDataset(self.batch_size)
        return DataLoader(dataset, num_workers=0, batch_size=None, collate_fn=dataset.collate)
