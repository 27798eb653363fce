"""A run of each rank, whose curves have names of their own."""

import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel as DDP


def train(net, loader):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    net = DDP(net)
    wandb.init(project="llm")  # expect: DL704
    for step, batch in enumerate(loader):
        loss = net(batch).mean()
        loss.backward()
        wandb.log({f"rank{rank}/loss": loss.item()}, step=step)
