"""A Trainer that takes all GPUs, in a script that asks which of the processes it is: Latte f8980c5 train_pl.py:127."""

import os

import torch
from pytorch_lightning import LightningModule, Trainer


class Net(LightningModule):
    def on_save_checkpoint(self, checkpoint):
        folder = self.trainer.checkpoint_callback.dirpath
        state = {"model": self.model.state_dict()}
        torch.save(state, f"{folder}/{self.trainer.global_step}.ckpt")  # expect: DL301


def main(loader):
    if int(os.environ.get("LOCAL_RANK", 0)) == 0:
        print("begins")
    trainer = Trainer(accelerator="gpu", strategy="auto", max_epochs=2)
    trainer.fit(Net(), train_dataloaders=loader)


if __name__ == "__main__":
    main(None)
