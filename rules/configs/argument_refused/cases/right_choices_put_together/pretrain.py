import argparse

import torch
import torch.distributed as dist
from torchvision import models as torchvision_models

from sizes import SIZES

of_torchvision = sorted(name for name in torchvision_models.__dict__ if name.islower())


def get_args_parser():
    parser = argparse.ArgumentParser("pretrains", add_help=False)
    parser.add_argument(
        "--arch",
        type=str,
        choices=["vit4k_xs", "vit_tiny"] + of_torchvision + torch.hub.list("facebookresearch/xcit:main"),
    )
    parser.add_argument("--size", choices=list(SIZES.keys()))
    return parser


if __name__ == "__main__":
    args = get_args_parser().parse_args()
    dist.init_process_group("nccl")
