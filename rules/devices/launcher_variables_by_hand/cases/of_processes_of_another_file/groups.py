"""Makes the group that ranks meet in."""

import os

import torch.distributed as dist


def meet(rank, ranks):
    dist.init_process_group("gloo", rank=rank, world_size=ranks)


def meet_here(config):
    # SUEF 1725670 utils/ddp_utils.py:54: the script starts all ranks, on this machine
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "12355"
    meet(config.number, config.total)
