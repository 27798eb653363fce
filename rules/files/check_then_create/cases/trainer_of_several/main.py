"""Each process makes the folder and trains."""

import os

import torch.distributed as dist
from settings import read
from trainer import PlainTrainer


def main():
    args = read()
    dist.init_process_group("nccl")
    os.makedirs(args.out)  # expect: DL305
    PlainTrainer(args).process()


if __name__ == "__main__":
    main()
