"""Steps over a loader that begins anew, in a project whose other script tells its sampler."""

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

from told import train_told


def train(model, data, steps):
    # BiSeNet 6b4b67a old/train.py:119, without the call
    sampler = DistributedSampler(data)  # expect: DL403
    dl = DataLoader(data, batch_size=8, sampler=sampler)
    batches = iter(dl)
    for _ in range(steps):
        try:
            batch = next(batches)
        except StopIteration:
            batches = iter(dl)
            batch = next(batches)
        model(batch).sum().backward()


def main(model, data, args):
    dist.init_process_group("nccl")
    if args.old:
        train(model, data, 1000)
    else:
        train_told(model, data, 1000)
