import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from pairs import pair_loader


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())

    def forward(self, x):
        return self.net(x)


def main():
    dist.init_process_group("nccl")
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    model = DDP(Encoder().to(device), device_ids=[device])
    optimizer = torch.optim.Adam(model.parameters())
    loader, sampler = pair_loader()
    for epoch in range(10):
        sampler.set_epoch(epoch)
        for first, second in loader:
            a = model(first.to(device))
            b = model(second.to(device))
            loss = 1 - nn.functional.cosine_similarity(a, b).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
