"""A seed to which the rank is added, in front of a training by a strategy."""

import torch
import torch.distributed as dist
from prismatic.util import set_global_seed
from torch import nn

from strategies import get_strategy


class Denoiser(nn.Module):
    def forward(self, images):
        noise = torch.randn_like(images)
        return (self.net(images + noise) - noise).square().mean()


def train(args, optimizer, loader):
    set_global_seed(args.seed + dist.get_rank())
    strategy = get_strategy("sharded", Denoiser(), optimizer)
    strategy.set_up()
    strategy.run(loader)


if __name__ == "__main__":
    train(None, None, None)
