"""An option keeps the script from making the group."""

import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Learner:
    def __init__(self):
        self.net = torch.nn.Linear(2, 2)
        if dist.is_initialized():
            self.net = DDP(self.net)

    def train(self, loader):
        for batch in loader:
            self.net(batch).sum().backward()

    def evaluate(self):
        return self.net.module.weight.sum()  # expect: DL204


def main(args):
    if args.several:
        dist.init_process_group("nccl")
    learner = Learner()
    learner.train([])
    learner.evaluate()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--several", action="store_true")
    main(parser.parse_args())
