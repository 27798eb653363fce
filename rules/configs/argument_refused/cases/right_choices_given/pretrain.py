import argparse

import torch.distributed as dist

SIZES = ("small", "large")


def get_args_parser(SIZES=("small", "large", "giant")):
    parser = argparse.ArgumentParser("pretrains")
    parser.add_argument("--size", choices=SIZES)
    return parser


if __name__ == "__main__":
    args = get_args_parser().parse_args()
    dist.init_process_group("nccl")
