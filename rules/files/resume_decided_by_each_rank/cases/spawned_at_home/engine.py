import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def save(model, optimizer, epoch, path):
    if dist.get_rank() == 0:
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
        torch.save(state, path)


def resume(model, optimizer, path):
    if not os.path.exists(path):
        return 0
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint["epoch"]


def work(index, config):
    rank = config.node_rank * config.ranks + index
    dist.init_process_group(
        "nccl", init_method="env://", world_size=config.ranks, rank=rank
    )
    model = DistributedDataParallel(make())
    optimizer = torch.optim.SGD(model.parameters())
    for epoch in range(resume(model, optimizer, config.path), config.epochs):
        train(model, optimizer)
        save(model, optimizer, epoch, config.path)
