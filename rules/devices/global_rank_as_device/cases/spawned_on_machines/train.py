import argparse

import torch.distributed as dist
import torch.multiprocessing as mp
from steps import Keeper, one_epoch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--world-size", default=1, type=int, help="machines")
    parser.add_argument("--rank", default=0, type=int, help="this machine's number")
    parser.add_argument("--url", default="tcp://10.0.0.1:4711")
    args = parser.parse_args()
    args.per_machine = 8
    args.world_size = args.per_machine * args.world_size
    mp.spawn(worker, nprocs=args.per_machine, args=(args,))


def worker(index, args):
    args.rank = args.rank * args.per_machine + index
    dist.init_process_group("nccl", init_method=args.url, world_size=args.world_size, rank=args.rank)
    one_epoch([], args=args)
    Keeper(args).resume("last.pt")


if __name__ == "__main__":
    main()
