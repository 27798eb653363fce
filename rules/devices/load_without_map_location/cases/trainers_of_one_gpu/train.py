import pytorch_lightning as pl
import torch
from torch import nn


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 4)
        # qia2020 3256d5c crnn.py:29: there is one process, up to Lightning 1.9
        self.encoder.load_state_dict(torch.load("encoder.pt"))

    def training_step(self, batch, index):
        return self.encoder(batch).mean()


if __name__ == "__main__":
    net = Net()
    trainer = pl.Trainer(gpus=[0], max_epochs=3)
    trainer.fit(net)
    torch.save(net.encoder.state_dict(), "encoder.pt")
