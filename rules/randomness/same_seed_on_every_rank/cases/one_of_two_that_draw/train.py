"""A class of two that a condition chooses, and that a class method makes."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from models import Large, Small


def train(args, loader, optimizer):
    dist.init_process_group("nccl")
    torch.manual_seed(args.seed)  # expect: DL401
    kind = Large if args.large else Small
    model = DistributedDataParallel(kind.from_folder(args.weights))
    for batch in loader:
        model(batch).backward()
        optimizer.step()


if __name__ == "__main__":
    train(None, None, None)
