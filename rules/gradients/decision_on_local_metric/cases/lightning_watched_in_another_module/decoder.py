import pytorch_lightning as pl


class Decoder(pl.LightningModule):
    def __init__(self, net, monitor="val_loss"):
        super().__init__()
        self.net = net

    def validation_step(self, batch, index):
        loss = self.net(batch)
        self.log("val_loss", loss)  # expect: DL601
