"""What a helper of a validation logs is synchronised, or the same on all ranks."""

import pytorch_lightning as pl
from pytorch_lightning.callbacks import EarlyStopping


class Counts(pl.LightningModule):
    def validation_step(self, batch, index):
        self.shared("val_")

    def shared(self, prefix="train_"):
        # the same on all ranks, and a metric that synchronises
        self.log(prefix + "rows", 1.0)
        self.log(f"{prefix}accuracy", self.accuracy)


class Synchronises(pl.LightningModule):
    def validation_step(self, batch, index):
        return self._step(batch, "val")

    def _step(self, batch, subset):
        loss = self.loss(self.model(batch), batch)
        self.log(f"losses/{subset}_loss", loss, sync_dist=subset != "train")
        return loss


def main(loader):
    watches = EarlyStopping(monitor="losses/val_loss")
    trainer = pl.Trainer(devices=4, strategy="ddp", callbacks=[watches])
    trainer.fit(Synchronises(), loader)
