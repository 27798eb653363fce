import pytorch_lightning as pl
from pytorch_lightning.callbacks import ModelCheckpoint

from pairs import Pairs


def main(loader):
    trainer = pl.Trainer(devices=4, strategy="ddp", callbacks=[ModelCheckpoint(monitor="val_cost")])
    trainer.fit(Pairs(), loader)
