"""A setting that holds on rank 0 alone leads to both."""

import torch.distributed as dist
import wandb


def main(settings):
    dist.init_process_group("nccl")
    settings.tracks = dist.get_rank() == 0 and settings.tracks
    if settings.tracks:
        wandb.init(project=settings.project)
    train(settings)


def train(settings):
    for _ in range(settings.epochs):
        dist.barrier()
        if settings.tracks:
            wandb.log({"loss": 0.0})
