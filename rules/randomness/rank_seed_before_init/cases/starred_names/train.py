"""Names of a library that come with all the others of a module: ml-fastvit 8af5928 train.py:53."""

import torch.distributed as dist
from timm.models import create_model
from timm.utils import *
from torch.nn.parallel import DistributedDataParallel as DDP


def evaluate(loader, model):
    dist.barrier()
    return [model(batch) for batch in loader]


def main(args, loader):
    random_seed(args.seed, args.rank)  # expect: DL402
    model = create_model(args.model)
    average = ModelEmaV2(model, decay=0.999)
    model = DDP(model)
    for _ in range(args.epochs):
        for batch in loader:
            model(batch).sum().backward()
        evaluate(loader, average.module)
