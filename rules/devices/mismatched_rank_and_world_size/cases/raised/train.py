# CodeGen e3e8855 CodeXGLUE/Text-Code/text-to-code/code/run.py:549
import argparse

import torch
import torch.distributed as dist
from data import Lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    args = parser.parse_args()
    torch.cuda.set_device(args.local_rank)
    dist.init_process_group("nccl")
    args.local_rank += args.machine * args.gpus
    print(Lines(args, open(args.path).readlines()))


if __name__ == "__main__":
    main()
