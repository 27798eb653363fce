import lightning.pytorch as pl
from counts import Hits, Misses
from lightning.pytorch.callbacks import ModelCheckpoint


class Classifying(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.counted = Hits()
        self.missed = Misses()

    def validation_step(self, batch, index):
        inputs, labels = batch
        predictions = self.net(inputs).argmax(-1)
        self.counted.update(predictions, labels)
        self.missed.update(predictions, labels)

    def on_validation_epoch_end(self):
        hits = self.counted.compute()
        self.log("hits", hits / 100)  # expect: DL601
        misses = self.missed.compute()
        self.log("misses", misses)  # expect: DL601


def main(net, data):
    best = [ModelCheckpoint(monitor="hits"), ModelCheckpoint(monitor="misses")]
    trainer = pl.Trainer(devices=4, strategy="ddp", callbacks=best)
    trainer.fit(Classifying(net), data)
