import pytorch_lightning as pl

from encoder import Encoder


def main(net, loader):
    trainer = pl.Trainer(devices=4, strategy="auto")
    trainer.fit(Encoder(net), loader)
