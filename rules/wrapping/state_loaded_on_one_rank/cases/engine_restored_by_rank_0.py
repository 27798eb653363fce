"""Rank 0 alone restores the engine, and tells the others no more than the epoch."""

import argparse

import deepspeed
import torch
import torch.distributed as dist


def main(args):
    model = torch.nn.Linear(2, 2)
    engine, _, _, _ = deepspeed.initialize(args=args, model=model)
    epoch = 0
    if dist.get_rank() == 0 and args.resume:
        _, state = engine.load_checkpoint(args.resume)  # expect: DL211
        epoch = state["epoch"]
    told = torch.tensor([epoch]).cuda()
    dist.broadcast(told, src=0)
    for _ in range(int(told), args.epochs):
        engine.backward(engine(torch.rand(2, 2).cuda()).sum())
        engine.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume")
    parser.add_argument("--epochs", type=int, default=3)
    main(parser.parse_args())
