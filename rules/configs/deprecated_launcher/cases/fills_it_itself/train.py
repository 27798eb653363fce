# NVAE 9fc1a28 train.py:426.
import argparse
from multiprocessing import Process

import torch
import torch.distributed as dist


def main(rank, size, args):
    dist.init_process_group("nccl", rank=rank, world_size=size, init_method="tcp://127.0.0.1:6020")
    torch.cuda.set_device(args.local_rank)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=0)
    parser.add_argument("--world_size", type=int, default=1)
    args = parser.parse_args()
    for rank in range(args.world_size):
        args.local_rank = rank
        Process(target=main, args=(rank, args.world_size, args)).start()
