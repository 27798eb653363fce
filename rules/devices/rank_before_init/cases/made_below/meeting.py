"""The group, and the rank in it."""

import torch.distributed as dist


def own_rank():
    if not dist.is_initialized():
        return 0
    return dist.get_rank()


def set_up(config):
    if config["distributed"]:
        dist.init_process_group("nccl")
