import argparse

import pytorch_lightning as pl
import torch
import webdataset as wds
from torch import nn

from vision import ResNetEncoder, augment


class ShardData(pl.LightningDataModule):
    def __init__(self, urls, batch_size):
        super().__init__()
        self.urls, self.batch_size = urls, batch_size

    def train_dataloader(self):
        dataset = (
            wds.WebDataset(self.urls)
            .shuffle(1000)
            .decode("pil")
            .to_tuple("jpg", "cls")
            .map_tuple(augment, lambda x: x)
            .batched(self.batch_size)
        )
        return wds.WebLoader(dataset, batch_size=None, num_workers=4)


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = ResNetEncoder()

    def training_step(self, batch, batch_idx):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--urls", default="shards/imagenet-{000000..001281}.tar")
    args = parser.parse_args()
    trainer = pl.Trainer(devices=8, accelerator="gpu", strategy="ddp", max_steps=100_000)
    trainer.fit(Model(), datamodule=ShardData(args.urls, 64))


if __name__ == "__main__":
    main()
