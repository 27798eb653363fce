"""How scripts ask for their local rank. The environment is named in none of them: see the folder `cases`."""

import argparse
import os

import torch
import torch.distributed as dist


def underscore_only():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local-rank", "--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", 0)))  # expect: DL805
    args = parser.parse_args()
    torch.cuda.set_device(args.local_rank)
    dist.init_process_group("nccl")


def words_of_the_program(words=""):
    # benchmark 0e83c44 torchbenchmark/util/framework/timm/args.py:754
    def parse():
        return parser.parse_args(words.split())

    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=0)
    args = parse()
    torch.cuda.set_device(args.local_rank)
    dist.init_process_group("nccl")


def another_argument():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank_file", default=None)
    return parser.parse_args()
