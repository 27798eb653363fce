import pytorch_lightning as pl
from pytorch_lightning.callbacks import ModelCheckpoint


class Summariser(pl.LightningModule):
    def validation_step(self, batch, index):
        return self(batch).loss

    def validation_epoch_end(self, outputs):
        # PRIMER 5acb5aa script/compared_model_main.py:419
        self.log("score", sum(outputs) / len(outputs))


def main(loader):
    trainer = pl.Trainer(
        gpus=4,
        accelerator="ddp",
        replace_sampler_ddp=False,
        callbacks=[ModelCheckpoint(monitor="score")],
    )
    trainer.fit(Summariser(), loader)
