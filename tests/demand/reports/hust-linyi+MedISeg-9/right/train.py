import os

from options import Options

opt = Options().parse()
os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(str(x) for x in opt.gpu)

import torch
from torch import nn

from networks import DEVICE, UNet
from data import get_loader


def main():
    model = nn.DataParallel(UNet().cuda())
    optimizer = torch.optim.Adam(model.parameters(), lr=opt.lr)
    for epoch in range(opt.epochs):
        for image, mask in get_loader(opt):
            loss = nn.functional.cross_entropy(model(image.to(DEVICE)), mask.to(DEVICE))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
