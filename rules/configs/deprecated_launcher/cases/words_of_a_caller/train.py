"""Options of whoever calls, or of the command line: argparse takes that where it gets None."""

import argparse

import torch
import torch.distributed as dist


def options(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=0)  # expect: DL805
    return parser.parse_args(words)


if __name__ == "__main__":
    args = options()
    torch.cuda.set_device(args.local_rank)
    dist.init_process_group("nccl")
