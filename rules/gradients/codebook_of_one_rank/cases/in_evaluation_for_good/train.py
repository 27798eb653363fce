"""Trains a model of the codes that a codebook gives, which stays as it is."""

import torch.distributed as dist
from codes import Codes
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main(loader, epochs):
    dist.init_process_group("nccl")
    codes = Codes(1024, 64, 0.99).cuda()
    codes.eval()
    model = DistributedDataParallel(nn.Linear(64, 64).cuda())
    for _ in range(epochs):
        model.train()
        for batch in loader:
            model(codes(*batch)).mean().backward()


if __name__ == "__main__":
    main([], 1)
