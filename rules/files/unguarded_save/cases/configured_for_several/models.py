import torch
from pytorch_lightning import LightningModule


class Small(LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def training_step(self, batch, index):
        return self.layer(batch).sum()
