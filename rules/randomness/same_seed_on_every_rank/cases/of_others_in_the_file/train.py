"""A file whose body names what another function trains: mdt_policy e7a78e7 mdt/utils/automatic_lang_annotator_mp.py:345 fits a module that draws nothing."""

import lightning as pl
import torch
from lightning.pytorch import seed_everything
from torch import nn


class Denoiser(nn.Module):
    def forward(self, latents):
        noise = torch.randn_like(latents)
        return (self.net(latents + noise) - noise).square().mean()


class Quiet(pl.LightningModule):
    def training_step(self, batch):
        return self.net(batch).mean()


def show(latents):
    return Denoiser()(latents)


def label(args, data):
    seed_everything(args.seed)
    trainer = pl.Trainer(accelerator="gpu", devices=4)
    trainer.fit(Quiet(), data)


if __name__ == "__main__":
    label(None, None)
