"""A sampler that is told the epoch where an option is off, which no command line can switch off."""

import argparse

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", default=True, action="store_true")
    parser.add_argument("--epochs", default=10, type=int)
    return parser.parse_args()


def main(data, model, args):
    dist.init_process_group("nccl")
    loader = DataLoader(data, sampler=DistributedSampler(data))  # expect: DL403
    for epoch in range(args.epochs):
        if not args.threads:
            loader.sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).sum().backward()


if __name__ == "__main__":
    main(list(range(8)), None, options())
