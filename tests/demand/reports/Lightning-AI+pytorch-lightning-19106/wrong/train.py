import argparse

import lightning as L
import torch
from torch.utils.data import DataLoader

from multitask import Net, MultiTaskDataset


class MultiTask(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = Net()
        self.losses = {}

    def training_step(self, batch, batch_idx):
        loss = self.net.loss(batch["x"], batch["task"], batch["y"])
        return loss.mean()

    def validation_step(self, batch, batch_idx):
        loss = self.net.loss(batch["x"], batch["task"], batch["y"])
        for task, value in zip(batch["task"], loss):
            self.losses.setdefault(task, []).append(value)

    def on_validation_epoch_end(self):
        means = {f"val/{task}": torch.stack(values).mean() for task, values in self.losses.items()}
        self.log_dict(means, sync_dist=True)
        self.losses = {}

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    trainer = L.Trainer(accelerator="gpu", devices=4, strategy="ddp", max_epochs=10)
    trainer.fit(
        MultiTask(args.lr),
        DataLoader(MultiTaskDataset("train"), batch_size=32, shuffle=True),
        DataLoader(MultiTaskDataset("val"), batch_size=32),
    )


if __name__ == "__main__":
    main()
