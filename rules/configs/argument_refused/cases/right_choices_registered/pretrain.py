import argparse

import torch.distributed as dist

KINDS = {"small": 1, "large": 2}


def register(*names):
    def add(cls):
        KINDS[names[0]] = cls
        return cls

    return add


@register("giant")
class Giant:
    pass


def get_args_parser():
    parser = argparse.ArgumentParser("pretrains")
    parser.add_argument("--size", choices=KINDS.keys())
    return parser


if __name__ == "__main__":
    args = get_args_parser().parse_args()
    dist.init_process_group("nccl")
