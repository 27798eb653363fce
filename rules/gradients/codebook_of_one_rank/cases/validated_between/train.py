"""Trains a codebook, and puts it into evaluation for each validation."""

import torch
import torch.distributed as dist
from codes import Codes
from torch.nn.parallel import DistributedDataParallel


def validate(codes, loader):
    codes.eval()
    with torch.no_grad():
        return sum(codes(*batch).mean() for batch in loader)


def main(loader, held_out, epochs):
    dist.init_process_group("nccl")
    codes = Codes(1024, 64, 0.99).cuda()
    codes = DistributedDataParallel(codes, broadcast_buffers=False)
    for _ in range(epochs):
        codes.train()
        for batch in loader:
            codes(*batch).mean().backward()
        validate(codes, held_out)


if __name__ == "__main__":
    main([], [], 1)
