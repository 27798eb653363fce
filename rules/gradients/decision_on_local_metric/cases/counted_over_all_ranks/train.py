import lightning.pytorch as pl
from counts import Hits
from lightning.pytorch.callbacks import ModelCheckpoint


class Classifying(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.counted = Hits()

    def validation_step(self, batch, index):
        inputs, labels = batch
        self.counted.update(self.net(inputs).argmax(-1), labels)

    def on_validation_epoch_end(self):
        hits = self.counted.compute()
        self.log("hits", hits / 100)


class Regressing(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def validation_step(self, batch, index):
        errors = self.all_gather(self.net(batch).abs().mean())
        self.log("error", errors.mean())


def main(net, error, data):
    best = [ModelCheckpoint(monitor="hits"), ModelCheckpoint(monitor="error")]
    trainer = pl.Trainer(devices=4, strategy="ddp", callbacks=best)
    trainer.fit(Classifying(net), data)
    trainer.fit(Regressing(error), data)
