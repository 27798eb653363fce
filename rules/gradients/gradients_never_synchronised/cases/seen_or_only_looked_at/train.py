"""Gradients of `torch.autograd.grad` that are looked at, go on to `backward()`, or are of the batch."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def made(data, rank):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(nn.Linear(8, 1), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return model, optimizer, DataLoader(data, sampler=DistributedSampler(data))


def penalty(data, rank):
    model, optimizer, loader = made(data, rank)
    for batch in loader:
        loss = model(batch).mean()
        gradients = torch.autograd.grad(loss, model.parameters(), create_graph=True)
        (loss + sum(g.norm() for g in gradients)).backward()
        optimizer.step()


def weighs(data, rank):
    model, optimizer, loader = made(data, rank)
    for batch in loader:
        loss = model(batch).mean()
        gradients = torch.autograd.grad(loss, model.parameters(), retain_graph=True)
        norm = torch.stack([g.norm() for g in gradients]).norm()
        (loss / norm).backward()
        optimizer.step()


def attack(data, rank):
    model, optimizer, loader = made(data, rank)
    for batch in loader:
        (gradient,) = torch.autograd.grad(model(batch).mean(), batch)
        batch.grad = gradient.sign()
        optimizer.step()


def prints(data, rank):
    model, optimizer, loader = made(data, rank)
    for batch in loader:
        gradients = torch.autograd.grad(model(batch).mean(), model.parameters())
        print([g.norm() for g in gradients])
        optimizer.step()


def one_process(data):
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in DataLoader(data):
        gradients = torch.autograd.grad(model(batch).mean(), model.parameters())
        for parameter, gradient in zip(model.parameters(), gradients):
            parameter.grad = gradient
        optimizer.step()
