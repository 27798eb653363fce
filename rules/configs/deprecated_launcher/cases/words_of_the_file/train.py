"""Options that a file writes down itself: what a launcher passes, nobody parses."""

import argparse

import torch
import torch.distributed as dist


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--local_rank", type=int, default=0)
    return parser.parse_args(["--epochs", "3"])


if __name__ == "__main__":
    args = options()
    torch.cuda.set_device(args.local_rank)
    dist.init_process_group("nccl")
