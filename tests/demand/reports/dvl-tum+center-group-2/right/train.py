import argparse
import os

import pytorch_lightning as pl
import torch

from pose import GroupingNet, coco_loaders, evaluate_coco


class CenterGroup(pl.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.net = GroupingNet()
        self.lr = lr
        self.world_rank = int(os.environ.get("RANK", 0))
        self.predictions = []

    def training_step(self, batch, batch_idx):
        loss = self.net(batch)
        self.log("train/loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        self.predictions.extend(self.net.predict(batch))

    def on_validation_epoch_end(self):
        gathered = [None] * self.trainer.world_size
        torch.distributed.all_gather_object(gathered, self.predictions)
        if self.world_rank == 0:
            stats = evaluate_coco([p for part in gathered for p in part])
            self.log("val/ap", stats["AP"], rank_zero_only=True)
        self.predictions.clear()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--gpus", type=int, default=2)
    args = parser.parse_args()
    train, val = coco_loaders()
    trainer = pl.Trainer(accelerator="gpu", devices=args.gpus, strategy="ddp", max_epochs=50)
    trainer.fit(CenterGroup(args.lr), train, val)


if __name__ == "__main__":
    main()
