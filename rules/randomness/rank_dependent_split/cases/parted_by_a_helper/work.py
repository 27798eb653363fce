"""What each rank does; it seeds torch, whose stream the helper does not draw from."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from .rows import Rows, parts


def work(rank, folder, model):
    dist.init_process_group("nccl", rank=rank)
    torch.cuda.manual_seed(1)
    model = DistributedDataParallel(model)
    train_names, held_out_names = parts(folder)
    rows = Rows(train_names)
    for batch in DataLoader(rows, sampler=DistributedSampler(rows)):
        model(batch).backward()
