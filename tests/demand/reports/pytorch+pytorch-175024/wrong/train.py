import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from images import image_loader


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 4, 2, 1), nn.BatchNorm2d(o), nn.LeakyReLU(0.2))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(block(3, 64), block(64, 128), nn.Flatten(), nn.LazyLinear(1))

    def forward(self, x):
        return self.body(x)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.ConvTranspose2d(100, 64, 4), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 3, 1))

    def forward(self, z):
        return self.body(z)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=25)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    netD = DDP(Discriminator().to(device), device_ids=[device.index])
    netG = DDP(Generator().to(device), device_ids=[device.index])
    optD = torch.optim.Adam(netD.parameters(), lr=2e-4)
    optG = torch.optim.Adam(netG.parameters(), lr=2e-4)
    criterion = nn.BCEWithLogitsLoss()
    loader, sampler = image_loader()
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for real in loader:
            real = real.to(device)
            fake = netG(torch.randn(len(real), 100, 1, 1, device=device))
            real_score = netD(real)
            fake_score = netD(fake.detach())
            lossD = criterion(real_score, torch.ones_like(real_score)) + criterion(fake_score, torch.zeros_like(fake_score))
            optD.zero_grad()
            lossD.backward()
            optD.step()
            score = netD(fake)
            optG.zero_grad()
            criterion(score, torch.ones_like(score)).backward()
            optG.step()


if __name__ == "__main__":
    main()
