import pytorch_lightning as pl
from classifier import Classifier
from pytorch_lightning.callbacks import ModelCheckpoint


def main(net, loader):
    best = ModelCheckpoint(monitor="val_loss")
    trainer = pl.Trainer(devices=4, strategy="auto", callbacks=[best])
    trainer.fit(Classifier(net), loader)
