import pytorch_lightning as pl
from classifier import Classifier


def main(net, loader):
    trainer = pl.Trainer(devices=4, strategy="auto")
    trainer.fit(Classifier(net), loader)
