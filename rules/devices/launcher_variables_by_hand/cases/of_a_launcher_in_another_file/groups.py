"""Makes the group that ranks meet in."""

import os

import torch.distributed as dist


def meet(rank, ranks):
    dist.init_process_group("gloo", rank=rank, world_size=ranks)


def meet_here(config):
    os.environ["MASTER_ADDR"] = "localhost"  # expect: DL510
    os.environ["MASTER_PORT"] = "12355"
    meet(config.number, config.total)
