"""Not left over."""

import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=-1)  # expect: DL805


def train(model, data):
    args = parser.parse_args()
    if args.local_rank == -1:
        return DataLoader(data)
    dist.init_process_group("nccl")
    sampler = DistributedSampler(data)
    print(dist.is_available(), DDP(model.cuda(), device_ids=[args.local_rank]))
    return DataLoader(data, sampler=sampler)


if __name__ == "__main__":
    train(torch.nn.Linear(2, 2), [])
