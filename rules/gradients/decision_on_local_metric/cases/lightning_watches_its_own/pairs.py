import pytorch_lightning as pl
from pytorch_lightning.callbacks import ModelCheckpoint


class Pairs(pl.LightningModule):
    def validation_step(self, batch, index):
        loss, gain = self(batch)
        self.log("val_cost", loss)
        self.log("gain", gain)  # expect: DL601


def main(loader):
    trainer = pl.Trainer(devices=4, strategy="ddp", callbacks=[ModelCheckpoint(monitor="gain")])
    trainer.fit(Pairs(), loader)
