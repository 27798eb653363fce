import argparse

import torch.distributed as dist


def get_args_parser():
    parser = argparse.ArgumentParser("a part on each rank", add_help=False)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--ema", action="store_true")
    parser.add_argument("--lr_drop", type=int, default=3)
    parser.add_argument("-e", "--experiment")
    parser.add_argument("-x", type=int)
    return parser


def main(args):
    dist.init_process_group("nccl")
    return args


if __name__ == "__main__":
    parser = argparse.ArgumentParser("training", parents=[get_args_parser()])
    main(parser.parse_args())
