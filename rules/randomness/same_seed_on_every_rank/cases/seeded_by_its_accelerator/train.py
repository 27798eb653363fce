"""A training with an object whose constructor seeds: VoxCPM 616d3d3 src/voxcpm/training/accelerator.py:55."""

import torch
from torch import nn

from accelerator import Accelerator


class Denoiser(nn.Module):
    def forward(self, images):
        noise = torch.randn_like(images)
        return (self.net(images + noise) - noise).square().mean()


def train(loader, optimizer):
    accelerator = Accelerator()
    model = accelerator.wrap(Denoiser())
    for batch in loader:
        model(batch).backward()
        optimizer.step()


if __name__ == "__main__":
    train(None, None)
