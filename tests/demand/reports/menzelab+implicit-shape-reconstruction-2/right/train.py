import argparse

import torch
from torch import nn

from shapes import AutoDecoder, sdf_loader


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="decoder.pth")
    parser.add_argument("--epochs", type=int, default=200)
    args = parser.parse_args()
    device = torch.device("cuda")
    net = AutoDecoder()
    if torch.cuda.device_count() > 1:
        net = nn.DataParallel(net)
    net = net.to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
    for _ in range(args.epochs):
        for points, sdf in sdf_loader():
            loss = (net(points.to(device)) - sdf.to(device)).abs().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    torch.save(getattr(net, "module", net).state_dict(), args.out)


if __name__ == "__main__":
    main()
