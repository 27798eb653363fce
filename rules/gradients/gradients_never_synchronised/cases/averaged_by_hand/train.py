"""What `torch.autograd.grad` gives is averaged before it is put into `.grad`."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def averaged(data, rank):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(nn.Linear(8, 1), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        gradients = torch.autograd.grad(model(batch).mean(), model.parameters())
        for parameter, gradient in zip(model.parameters(), gradients):
            dist.all_reduce(gradient)
            parameter.grad = gradient / dist.get_world_size()
        optimizer.step()
