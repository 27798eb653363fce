"""A training with an object whose constructor seeds, and that gives each rank a stream of its own."""

import torch
import torch.distributed as dist
from torch import nn

from accelerator import Accelerator


class Denoiser(nn.Module):
    def forward(self, images):
        noise = torch.randn_like(images)
        return (self.net(images + noise) - noise).square().mean()


def train(loader, optimizer):
    accelerator = Accelerator()
    model = accelerator.wrap(Denoiser())
    torch.manual_seed(1000 + dist.get_rank())
    for batch in loader:
        model(batch).backward()
        optimizer.step()


if __name__ == "__main__":
    train(None, None)
