import os

import torch
import torch.nn as nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)).to(device)


def use_gpu(index):
    os.environ["CUDA_VISIBLE_DEVICES"] = str(index)


def train(steps=1000):
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(steps):
        x = torch.randn(32, 64, device=device)
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    use_gpu(2)
    train()
