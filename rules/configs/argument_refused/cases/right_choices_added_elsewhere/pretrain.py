import argparse

import giant
import torch.distributed as dist
from models import MODELS


def get_args_parser():
    parser = argparse.ArgumentParser("pretrains")
    parser.add_argument("--size", choices=list(MODELS.keys()))
    return parser


if __name__ == "__main__":
    args = get_args_parser().parse_args()
    dist.init_process_group("nccl")
