"""What a validation logs in a method that it calls, under a name that is put together there."""

import pytorch_lightning as pl
from pytorch_lightning.callbacks import EarlyStopping


class Separates(pl.LightningModule):
    def training_step(self, batch, index):
        return self._step(batch, "train")

    def validation_step(self, batch, index):
        return self._step(batch, subset="val")

    def _step(self, batch, subset):
        loss = self.loss(self.model(batch), batch)
        self.log(f"losses/{subset}_loss", loss.item(), on_epoch=True)  # expect: DL601
        return loss


def main(loader):
    watches = EarlyStopping(monitor="losses/val_loss")
    trainer = pl.Trainer(devices=4, strategy="ddp", callbacks=[watches])
    trainer.fit(Separates(), loader)
