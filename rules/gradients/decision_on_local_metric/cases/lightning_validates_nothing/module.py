import pytorch_lightning as pl


class Codes(pl.LightningModule):
    def validation_step(self, batch, index):
        self.log("val_loss", self(batch))
