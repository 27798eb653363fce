import argparse
import os

import torch
import torch.distributed as dist
from loading import loader_of


def main(args):
    torch.cuda.set_device(args.local_rank)
    dist.init_process_group("nccl", rank=int(os.environ["RANK"]), world_size=args.world_size)
    print(loader_of(args))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--local-rank", "--local_rank", type=int, default=0)
    parser.add_argument("--cue", default="lips")
    args = parser.parse_args()
    args.rank = int(os.environ["RANK"])
    args.world_size = int(os.environ["WORLD_SIZE"])
    main(args)
