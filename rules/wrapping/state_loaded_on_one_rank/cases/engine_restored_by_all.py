"""Each rank restores its part, and rank 0 tells of it."""

import argparse

import deepspeed
import torch
import torch.distributed as dist


def main(args):
    model = torch.nn.Linear(2, 2)
    engine, _, _, _ = deepspeed.initialize(args=args, model=model)
    if args.resume:
        _, state = engine.load_checkpoint(args.resume)
        if dist.get_rank() == 0:
            print(state["epoch"])
    for _ in range(args.epochs):
        engine.backward(engine(torch.rand(2, 2).cuda()).sum())
        engine.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume")
    parser.add_argument("--epochs", type=int, default=3)
    main(parser.parse_args())
