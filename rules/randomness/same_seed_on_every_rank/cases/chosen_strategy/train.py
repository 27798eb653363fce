"""A seed of a library's function, in front of a training by a strategy: CogACT b174a1b scripts/train.py:140."""

import torch
from prismatic.util import set_global_seed
from torch import nn

from strategies import get_strategy


class Denoiser(nn.Module):
    def forward(self, images):
        noise = torch.randn_like(images)
        return (self.net(images + noise) - noise).square().mean()


def train(args, optimizer, loader):
    set_global_seed(args.seed)  # expect: DL401
    strategy = get_strategy("sharded", Denoiser(), optimizer)
    strategy.set_up()
    strategy.run(loader)


if __name__ == "__main__":
    train(None, None, None)
