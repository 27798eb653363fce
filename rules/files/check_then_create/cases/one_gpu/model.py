import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 2)

    def training_step(self, batch, _):
        return self.linear(batch).mean()


def loader(path):
    return DataLoader(torch.load(path))
