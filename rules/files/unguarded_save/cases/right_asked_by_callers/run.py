import argparse
import os

import torch.distributed as dist

from keeping import Keeper


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ddp", action="store_true")
    parser.add_argument("--local_rank", type=int, default=0)
    args = parser.parse_args()
    if args.ddp:
        args.local_rank = int(os.environ["LOCAL_RANK"])
        dist.init_process_group("nccl")
    keeper = Keeper(args)
    for step in range(3):
        keeper(step, {"weights": step})


if __name__ == "__main__":
    main()
