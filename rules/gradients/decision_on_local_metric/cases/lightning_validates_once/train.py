import pytorch_lightning as pl
from module import Codes as Coder
from pytorch_lightning.callbacks import ModelCheckpoint


def main(args, loader):
    watch = [ModelCheckpoint(monitor="val_loss")]
    trainer = pl.Trainer.from_argparse_args(args, devices=4, callbacks=watch, limit_val_batches=0)
    pl.Trainer(devices=4, callbacks=watch).fit(Coder(), loader)
    trainer.fit(Coder(), loader)
