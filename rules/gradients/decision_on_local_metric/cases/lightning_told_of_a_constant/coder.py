import pytorch_lightning as pl


class Unscored(pl.LightningModule):
    def __init__(self, net, monitor="val/rec"):
        super().__init__()
        self.net = net
        self.monitor = monitor

    def validation_step(self, batch, index):
        self.net(batch)
        loss = 0
        self.log("val/rec", loss)
