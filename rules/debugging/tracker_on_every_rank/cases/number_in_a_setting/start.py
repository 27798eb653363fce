"""Puts the rank into a setting, or another number."""

import os

import torch.distributed as dist


def by_slurm(args):
    args.worker = int(os.environ["SLURM_PROCID"])
    os.environ["WORLD_SIZE"] = os.environ["SLURM_NTASKS"]


def by_launcher(args):
    args.worker = args.nodes // 2
    os.environ["WORLD_SIZE"] = str(int(os.getenv("WORLD_SIZE", 1)) * args.nodes)


def start(args):
    args.worker, args.parts = 0, 1
    if args.slurm:
        by_slurm(args)
    else:
        by_launcher(args)
    dist.init_process_group("nccl")
