"""A function of the file by the name of one that a star import would bring."""

import torch.distributed as dist
from timm.models import create_model
from timm.utils import *
from torch.nn.parallel import DistributedDataParallel as DDP


def random_seed(seed, shard):
    return seed, shard


def evaluate(loader, model):
    dist.barrier()
    return [model(batch) for batch in loader]


def main(args, loader):
    random_seed(args.seed, args.rank)
    model = create_model(args.model)
    average = ModelEmaV2(model, decay=0.999)
    model = DDP(model)
    for _ in range(args.epochs):
        for batch in loader:
            model(batch).sum().backward()
        evaluate(loader, average.module)
