"""No option has a default: ST-LLM ae45258 stllm/common/dist_utils.py:66."""

import os

import torch
import torch.distributed as dist


def counted():
    if dist.is_initialized():
        return dist.get_world_size()
    world_size = 1
    return world_size


def start(cfg):
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        cfg.rank = int(os.environ["RANK"])
        cfg.world_size = int(os.environ["WORLD_SIZE"])
    elif "SLURM_PROCID" in os.environ:
        cfg.rank = int(os.environ["SLURM_PROCID"])
    torch.cuda.set_device(cfg.rank % torch.cuda.device_count())
    dist.init_process_group("nccl", rank=cfg.rank, world_size=cfg.world_size)


def train(cfg):
    start(cfg)
    print(counted())
