import argparse
import os

import torch
from torch import distributed as dist
from torch import nn, optim
from torch.nn.functional import softplus

from celeba import endless


class Norm(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.bn = nn.BatchNorm2d(channels)

    def forward(self, x):
        return self.bn(x)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.Sequential(nn.Conv2d(3, 64, 3), Norm(64), nn.LeakyReLU(0.2))
        self.final = nn.Linear(64, 1)

    def forward(self, x):
        return self.final(self.convs(x).mean((2, 3)))


def train(args, loader, generator, discriminator, d_optim, device):
    for i in range(args.iter):
        real_img = next(loader).to(device)
        noise = torch.randn(args.batch, 512, device=device)
        fake_img = generator(noise).detach()
        fake_pred = discriminator(fake_img)
        real_pred = discriminator(real_img)
        d_loss = softplus(-real_pred).mean() + softplus(fake_pred).mean()
        discriminator.zero_grad()
        d_loss.backward()
        d_optim.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--iter", type=int, default=800000)
    parser.add_argument("--batch", type=int, default=16)
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group(backend="nccl")
    device = torch.device("cuda", local_rank)
    generator = torch.hub.load("rosinality/stylegan2", "generator").to(device).eval()
    discriminator = nn.parallel.DistributedDataParallel(Discriminator().to(device), device_ids=[local_rank])
    d_optim = optim.Adam(discriminator.parameters(), lr=0.002)
    train(args, endless(dist.get_rank(), dist.get_world_size()), generator, discriminator, d_optim, device)
