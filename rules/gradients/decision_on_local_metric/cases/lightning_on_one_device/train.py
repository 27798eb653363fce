import pytorch_lightning as pl
from pytorch_lightning.callbacks import ModelCheckpoint


class Encoder(pl.LightningModule):
    def validation_step(self, batch, index):
        self.log("val_loss", self(batch))


def main(loader):
    trainer = pl.Trainer(devices=1, callbacks=[ModelCheckpoint(monitor="val_loss")])
    trainer.fit(Encoder(), loader)
