import pytorch_lightning as pl

from encoder import Encoder


class Deeper(Encoder):
    def configure_optimizers(self):
        optimizer, plateau = self.net.optimizers()
        return {"optimizer": optimizer, "lr_scheduler": plateau, "monitor": "val_loss"}


def main(net, loader):
    pl.Trainer(devices=4, strategy="ddp").fit(Deeper(net), loader)
