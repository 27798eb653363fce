"""Rank 0 opens the run, and all ranks write to it: in the same function, and behind the option under which it is opened."""

import argparse

import torch.distributed as dist
import wandb


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tracks", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    if args.tracks and dist.get_rank() == 0:
        wandb.init(project="digits")
    best = 0.0
    for step in range(100):
        loss = one_step(args)
        best = min(best, loss)
        if dist.get_rank() == 0:
            wandb.log({"loss": loss})
    dist.barrier()
    if args.tracks:
        wandb.log({"best": best})  # expect: DL208
    wandb.finish()


def one_step(args):
    return float(args.tracks)


if __name__ == "__main__":
    main()
