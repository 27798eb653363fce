# EasyNLP a4ee956 easynlp/utils/arguments.py:283: what nobody knows is left
import argparse

import torch
import torch.distributed as dist


def with_options(parser):
    parser.add_argument("--local_rank", type=int, default=None)
    return parser


def options():
    parser = with_options(argparse.ArgumentParser())
    known, _ = parser.parse_known_args()
    return known


def options_of_the_engine():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stage", type=int)
    return parser.parse_args()


def start():
    args = options()
    dist.init_process_group("nccl")
    local = dist.get_rank() % torch.cuda.device_count() if args.local_rank is None else args.local_rank
    torch.cuda.set_device(local)
