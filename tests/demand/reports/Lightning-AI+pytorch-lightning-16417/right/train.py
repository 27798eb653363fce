import argparse

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities import rank_zero_only
from torch.utils.data import DataLoader

from molecules import Net, dataset


class EvaluationCallback(pl.Callback):
    def __init__(self, loader, every=1):
        self.loader = loader
        self.every = every

    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.current_epoch % self.every:
            return
        errors = []
        pl_module.eval()
        for batch in self.loader:
            with torch.no_grad():
                prediction = pl_module(batch.to(pl_module.device))
            errors.append((prediction - batch.y).abs().mean())
        pl_module.log("extra/mae", torch.stack(errors).mean(), sync_dist=True)
        pl_module.train()


class Module(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, batch):
        return self.net(batch)

    def training_step(self, batch, batch_idx):
        return torch.nn.functional.l1_loss(self(batch), batch.y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--devices", type=int, default=4)
    args = parser.parse_args()
    train, extra = dataset("train"), dataset("extra")
    trainer = pl.Trainer(
        devices=args.devices,
        strategy="ddp",
        callbacks=[EvaluationCallback(DataLoader(extra, batch_size=64))],
    )
    trainer.fit(Module(), DataLoader(train, batch_size=64, shuffle=True))


if __name__ == "__main__":
    main()
