"""Wraps under a setting that holds on one process too: the number of ranks is set here where no launcher sets it.

PersFormer_3DLane 3ed3109 experiments/ddp.py:76
"""

import argparse
import os

import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def count(args):
    os.environ["WORLD_SIZE"] = str(int(os.getenv("WORLD_SIZE", 1)) * args.nodes)


def start(args):
    count(args)
    if "WORLD_SIZE" in os.environ:
        args.several = int(os.environ["WORLD_SIZE"]) >= 1


def main(args):
    start(args)
    net = torch.nn.Linear(2, 2)
    if args.several:
        net = DDP(net)
    return net.module.weight.sum()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--several", action="store_true")
    parser.add_argument("--nodes", type=int, default=1)
    main(parser.parse_args())
