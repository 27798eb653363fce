"""The function that writes asks for nothing, and the one that calls it for the rank."""

import torch.distributed as dist
import wandb


def opens(folder):
    wandb.init(dir=folder)


def writes(values):
    wandb.log(values)


def main(folder):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        opens(folder)
    dist.barrier()
    if dist.get_rank() == 0:
        writes({"loss": 0.0})


main("logs")
