import pytorch_lightning as pl
import torch
from torch import nn


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 4)
        self.encoder.load_state_dict(torch.load("encoder.pt"))  # expect: DL505

    def training_step(self, batch, index):
        return self.encoder(batch).mean()


if __name__ == "__main__":
    net = Net()
    trainer = pl.Trainer(gpus=[0, 1], accelerator="ddp", max_epochs=3)
    trainer.fit(net)
    torch.save(net.encoder.state_dict(), "encoder.pt")
