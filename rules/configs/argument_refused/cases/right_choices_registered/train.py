import argparse

import torch.distributed as dist

import big
from tables import HEADS, KINDS, MODELS, NECKS

SIZES = {"small": 1, "large": 2}


def get_args(SIZES=("small", "huge")):
    parser = argparse.ArgumentParser("trains")
    parser.add_argument("--model", choices=list(MODELS.keys()))
    parser.add_argument("--head", choices=sorted(HEADS))
    parser.add_argument("--kind", choices=list(KINDS))
    parser.add_argument("--neck", choices=list(NECKS))
    parser.add_argument("--size", choices=list(SIZES))
    return parser.parse_args()


if __name__ == "__main__":
    args = get_args()
    dist.init_process_group("nccl")
    print(big.Wide, MODELS[args.model])
