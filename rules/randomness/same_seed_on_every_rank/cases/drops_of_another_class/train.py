"""Trains a net of blocks, of which another file has some too."""

import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from deep.nets import Deep
from flat.nets import Flat


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--flat", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    torch.manual_seed(args.seed)
    net = DDP(Flat(8, 0.1) if args.flat else Deep(8))
    optimizer = torch.optim.SGD(net.parameters())
    for batch in torch.load("batches.pt"):
        loss = net(batch).sum()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
