import pytorch_lightning as pl


class Coder(pl.LightningModule):
    def __init__(self, net, monitor=None):
        super().__init__()
        self.net = net
        if monitor is not None:
            self.monitor = monitor

    def validation_step(self, batch, index):
        losses = self.net(batch)
        self.log("val/rec", losses["val/rec"])  # expect: DL601
        self.log("val/other", losses["val/other"])


class Apart(pl.LightningModule):
    def __init__(self, net, monitor=None):
        super().__init__()
        self.net = net
        self.monitor = monitor

    def validation_step(self, batch, index):
        self.log("val/rec", self.net(batch))
