"""Rank 0 restores the engine and sends what it has read."""

import argparse

import deepspeed
import torch
import torch.distributed as dist


def main(args):
    model = torch.nn.Linear(2, 2)
    engine, _, _, _ = deepspeed.initialize(args=args, model=model)
    if dist.get_rank() == 0:
        engine.load_checkpoint(args.resume, load_optimizer_states=False)
    for tensor in engine.module.state_dict().values():
        dist.broadcast(tensor.data, src=0)
    for _ in range(args.epochs):
        engine.backward(engine(torch.rand(2, 2).cuda()).sum())
        engine.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume")
    parser.add_argument("--epochs", type=int, default=3)
    main(parser.parse_args())
