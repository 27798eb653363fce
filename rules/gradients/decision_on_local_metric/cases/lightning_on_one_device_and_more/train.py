import pytorch_lightning as pl
from pytorch_lightning.callbacks import ModelCheckpoint


class Encoder(pl.LightningModule):
    def validation_step(self, batch, index):
        self.log("val_loss", self(batch))  # expect: DL601


def main(loader):
    trainer = pl.Trainer(devices=4, callbacks=[ModelCheckpoint(monitor="val_loss")])
    trainer.fit(Encoder(), loader)


def try_out(loader):
    pl.Trainer(devices=1, fast_dev_run=True).fit(Encoder(), loader)
