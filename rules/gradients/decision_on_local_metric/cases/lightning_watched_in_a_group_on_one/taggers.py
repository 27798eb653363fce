import pytorch_lightning as pl


class Tagger(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.right = 0
        self.seen = 0

    def validation_step(self, batch, index):
        words, tags = batch
        self.right += int((self.net(words) == tags).sum())
        self.seen += len(tags)

    def on_validation_epoch_end(self):
        self.log("val/right", self.right / self.seen)
        self.log("val/seen", self.seen)


class Reader(pl.LightningModule):
    def validation_step(self, batch, index):
        self._log(self(batch), "val")

    def _log(self, loss, stage):
        self._put(stage, loss=loss)

    def _put(self, stage, loss, name="loss"):
        self.log(f"{stage}/{name}", loss)


class Synchronised(pl.LightningModule):
    def validation_step(self, batch, index):
        self.log("val/right", self(batch), sync_dist=True)


class Unwatched(pl.LightningModule):
    def validation_step(self, batch, index):
        self.log("val/other", self(batch))
