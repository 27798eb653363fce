"""Ranks that are spawned: the write stands two calls below."""

import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import wandb
from torch.nn.parallel import DistributedDataParallel


def worker(rank, args):
    dist.init_process_group("nccl", rank=rank, world_size=args.number)
    model = DistributedDataParallel(torch.nn.Linear(8, 1).to(rank), device_ids=[rank])
    if rank == 0:
        wandb.init(project="digits")
        wandb.watch(model)
    train(model, rank, args.epochs)


def train(model, rank, epochs):
    for epoch in range(epochs):
        batches = [torch.randn(4, 8, device=rank) for _ in range(10)]
        one_epoch(model, batches)
        if rank == 0:
            wandb.log({"epoch": epoch})


def one_epoch(model, batches):
    for step, batch in enumerate(batches):
        loss = model(batch).sum()
        loss.backward()
        if step % 10 == 0:
            wandb.log({"loss": loss.item()})  # expect: DL208


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--number", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    mp.spawn(worker, nprocs=args.number, args=(args,))
