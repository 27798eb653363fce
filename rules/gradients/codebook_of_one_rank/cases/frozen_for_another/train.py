"""Trains another model on the codes."""

import torch
import torch.distributed as dist
from codes import Codec
from torch.nn.parallel import DistributedDataParallel


def main(model, batches):
    dist.init_process_group("nccl")
    codec = Codec().cuda()
    codec.eval()
    model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in batches:
        model(codec(batch)).mean().backward()
        optimizer.step()
