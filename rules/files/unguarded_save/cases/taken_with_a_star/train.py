# scBERT 262fd4b finetune.py:266: at the top of a script, what a star took from another file.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from helpers import *

dist.init_process_group("nccl")
model = DistributedDataParallel(torch.nn.Linear(8, 8).cuda())
best = 0.0
for epoch in range(10):
    dist.barrier()
    score = train(model)
    dist.all_reduce(score)
    if score > best:
        best = score
        keep(model, "last.pt")
        if RANK == 0:
            keep_best(model, "best.pt")
