# CodeGen e3e8855 CodeXGLUE/Text-Code/text-to-code/code/run.py:624
import argparse
import os

import torch
import torch.distributed as dist


def scores(args, model, split):
    with open(os.path.join(args.out, f"{split}.txt"), "w") as file:
        file.write(str(model(split)))


def main():
    args = argparse.ArgumentParser().parse_args()
    dist.init_process_group("nccl")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    if args.test:  # only works on 1 GPU
        scores(args, model, "test")


if __name__ == "__main__":
    main()
