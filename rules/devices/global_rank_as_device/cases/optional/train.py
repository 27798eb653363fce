"""A script whose option is the rank of the job, where a launcher says which that is."""

import argparse
import os

import torch.distributed as dist

from .trainer import Trainer

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    try:
        rank = int(os.environ["RANK"])
    except KeyError:
        rank = 0
    parser.add_argument("--rank", type=int, default=rank)
    args = parser.parse_args()
    dist.init_process_group("nccl", rank=args.rank)
    Trainer(args, None).resume("last.pt")
