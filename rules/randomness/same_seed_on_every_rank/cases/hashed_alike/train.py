"""Directions by which a step compares vectors, one for all samples of a batch: fly 6b73449 src/models/attention/reformer_attention.py:113."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Buckets(nn.Module):
    def __init__(self, rounds, each=False):
        super().__init__()
        self.rounds = rounds
        self.each = each

    def forward(self, vectors):
        size = vectors.shape[0]
        shape = (size if self.each else 1, vectors.shape[-1], self.rounds)
        directions = torch.randn(shape, device=vectors.device).expand(size, -1, -1)
        return (vectors @ directions).argmax(-1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.buckets = Buckets(4)

    def forward(self, vectors):
        return self.net(vectors, self.buckets(vectors)).mean()


def train(args, loader, optimizer):
    dist.init_process_group("nccl")
    torch.manual_seed(args.seed)
    model = DistributedDataParallel(Model())
    for batch in loader:
        model(batch).backward()
        optimizer.step()


if __name__ == "__main__":
    train(None, None, None)
