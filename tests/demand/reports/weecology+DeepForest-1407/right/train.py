import argparse

import pandas as pd
import pytorch_lightning as pl
import torch
from torchmetrics.detection import MeanAveragePrecision

from crowns import RetinaNet, make_loaders


class deepforest(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = RetinaNet()
        self.mAP_metric = MeanAveragePrecision()
        self.predictions = []

    def training_step(self, batch, batch_idx):
        images, targets = batch
        return sum(self.model(images, targets).values())

    def validation_step(self, batch, batch_idx):
        images, targets = batch
        preds = self.model(images)
        self.predictions.extend(p["boxes"] for p in preds if len(p["boxes"]))
        self.mAP_metric.update(preds, targets)

    def on_validation_epoch_end(self):
        metrics = self.mAP_metric
        output = metrics.compute()
        self.log("map", output["map"])
        self.mAP_metric.reset()
        self.predictions = []

    def configure_optimizers(self):
        return torch.optim.SGD(self.model.parameters(), lr=1e-3, momentum=0.9)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--devices", type=int, default=2)
    args = parser.parse_args()
    train_loader, val_loader = make_loaders(pd.read_csv("train.csv"), pd.read_csv("val.csv"))
    trainer = pl.Trainer(devices=args.devices, strategy="ddp", max_epochs=20)
    trainer.fit(deepforest(), train_loader, val_loader)


if __name__ == "__main__":
    main()
