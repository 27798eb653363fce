"""A local rank of -1 leaves the model bare, and ends above at a barrier (SimXNS 0163380 MASTER/finetune/wiki/inference_de.py:199)."""

import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def embedded(args, net, batches):
    return [net.module(batch) for batch in batches]


def load(args):
    net = torch.nn.Linear(2, 2)
    if args.local_rank != -1:
        net = DDP(net)
    return net


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local-rank", "--local_rank", type=int, default=-1)
    args = parser.parse_args()
    if args.local_rank != -1:
        dist.init_process_group("nccl")
    net = load(args)
    if args.local_rank != 0:
        dist.barrier()
    batches = [torch.ones(2)]
    if args.local_rank == 0:
        dist.barrier()
    print(embedded(args, net, batches))


if __name__ == "__main__":
    main()
