import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from energy import point_loader


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(3)
        self.net = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(self.bn(x))


def gradient_penalty(model, x):
    x = x.clone().requires_grad_(True)
    (g,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    return (g.norm(dim=1) - 1).square().mean()


def main():
    dist.init_process_group("nccl")
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    model = DDP(Energy().to(device), device_ids=[device])
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in point_loader(dist.get_rank(), dist.get_world_size()):
        x, y = x.to(device), y.to(device)
        loss = (model(x) - y).abs().mean()
        loss = loss + 0.1 * gradient_penalty(model, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
