"""lightning-bolts 2c4602a src/pl_bolts/models/mnist_module.py:53: what is watched is of another model."""

import pytorch_lightning as pl
from encoder import Encoder
from pytorch_lightning.callbacks import ModelCheckpoint


def main(net, loader):
    best = ModelCheckpoint(monitor="val_loss")
    trainer = pl.Trainer(devices=4, strategy="auto", callbacks=[best])
    trainer.fit(Encoder(net), loader)
