# At the top of a script, a flag and a function that a star took from another file.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from setup_ranks import *

dist.init_process_group("nccl")
model = DistributedDataParallel(torch.nn.Linear(8, 8).cuda())
for epoch in range(10):
    dist.barrier()
    train(model)
    if IS_MAIN:
        keep(model, "last.pt")


def finish():
    if IS_MAIN:
        keep(model, "final.pt")


finish()
