"""Epochs over samplers of the project's own."""

import torch.distributed as dist
from torch.utils.data import DataLoader

from samplers import PartSampler, ResumingSampler


def train(model, data, epochs):
    dist.init_process_group("nccl")
    loader = DataLoader(data, sampler=ResumingSampler(data, dist.get_rank(), dist.get_world_size()))  # expect: DL403
    for epoch in range(epochs):
        for batch in loader:
            model(batch, epoch).sum().backward()


def train_from(model, data, epochs):
    dist.init_process_group("nccl")
    loader = DataLoader(data, sampler=PartSampler(data))  # expect: DL403
    for epoch in range(epochs):
        for batch in loader:
            model(batch, epoch).sum().backward()
