import argparse
import os

import torch
import torch.distributed as dist


def rounded(args, model, split):
    with open(os.path.join(args.out, f"{split}-rounded.txt"), "w") as file:  # expect: DL301
        file.write(str(round(model(split))))


def main():
    args = argparse.ArgumentParser().parse_args()
    dist.init_process_group("nccl")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    if args.round:  # only works on a GPU
        rounded(args, model, "test")


if __name__ == "__main__":
    main()
