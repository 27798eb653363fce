# muzic 2b87396 getmusic/train.py:134.
import argparse

import torch
from torch.nn.parallel import DistributedDataParallel

from starting import launch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", default=-1, type=int)
    parser.add_argument("--gpus", default=8, type=int)
    args = parser.parse_args()
    launch(work, args.gpus, args)


def work(local_rank, args):
    args.local_rank = local_rank
    model = torch.nn.Linear(8, 8).to(args.local_rank)
    return DistributedDataParallel(model, device_ids=[args.local_rank])


if __name__ == "__main__":
    main()
