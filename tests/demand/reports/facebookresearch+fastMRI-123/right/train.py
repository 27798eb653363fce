import argparse

import numpy as np
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from unet import Unet
from volumes import read_slices


class RandomMask:
    def __init__(self, center=0.08, acceleration=4):
        self.rng = np.random.RandomState()
        self.center, self.acceleration = center, acceleration

    def __call__(self, width):
        return self.rng.uniform(size=width) < 1 / self.acceleration


class SliceDataset(Dataset):
    def __init__(self, root):
        self.slices = read_slices(root)
        self.mask = RandomMask()

    def __len__(self):
        return len(self.slices)

    def __getitem__(self, i):
        kspace, target = self.slices[i]
        return kspace * self.mask(kspace.shape[-1]), target


def worker_init_fn(worker_id):
    info = torch.utils.data.get_worker_info()
    info.dataset.mask.rng.seed(info.seed % 2**31)
    np.random.seed(info.seed % 2**31)


class Module(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Unet()

    def training_step(self, batch, batch_idx):
        kspace, target = batch
        return torch.nn.functional.l1_loss(self.net(kspace), target)

    def configure_optimizers(self):
        return torch.optim.RMSprop(self.parameters(), lr=1e-3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True)
    args = parser.parse_args()
    loader = DataLoader(SliceDataset(args.root), batch_size=1, shuffle=True, num_workers=4, worker_init_fn=worker_init_fn)
    pl.Trainer(devices=4, accelerator="gpu", strategy="ddp").fit(Module(), loader)


if __name__ == "__main__":
    main()
