import argparse

import torch.distributed as dist
from start import start


def of_a_shard(args, shards, gpus):
    args.world_size = shards * gpus


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--world_size", default=1, type=int)
    parser.add_argument("--shards", default=1, type=int)
    args = parser.parse_args()
    of_a_shard(args, args.shards, 8)
    start(args)
    dist.barrier()
