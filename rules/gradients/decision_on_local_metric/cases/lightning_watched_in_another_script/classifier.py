import pytorch_lightning as pl


class Classifier(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def validation_step(self, batch, index):
        loss = self.net(batch)
        self.log("val_loss", loss)
