import argparse
import glob

import numpy as np
import pytorch_lightning as pl
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, IterableDataset

from net import Net


class FileStream(IterableDataset):
    """Each rank reads its own files; the files have different numbers of rows."""

    def __init__(self, pattern):
        self.names = sorted(glob.glob(pattern))

    def __iter__(self):
        rank, world = dist.get_rank(), dist.get_world_size()
        self.files = ((row[:-1], row[-1]) for name in self.names[rank::world] for row in np.load(name))
        for x, y in self.files:
            yield torch.as_tensor(x), torch.as_tensor(y)


class Regressor(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.net(x), y)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="shards/*.npy")
    parser.add_argument("--batch", type=int, default=256)
    args = parser.parse_args()
    loader = DataLoader(FileStream(args.data), batch_size=args.batch, num_workers=0)
    trainer = pl.Trainer(accelerator="gpu", devices=4, strategy="ddp", max_epochs=5)
    trainer.fit(Regressor(), loader)


if __name__ == "__main__":
    main()
