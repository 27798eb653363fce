"""Puts the nodes of a graph into parts."""

import torch
from torch.utils.data import DataLoader, DistributedSampler


def mixed(nodes):
    order = torch.randperm(len(nodes))
    return nodes[order]


def loader_of(nodes, size, mix=True):
    if mix:
        nodes = mixed(nodes)
    parts = []
    for part in nodes.split(size):
        parts.append(part)
    sampler = DistributedSampler(parts)
    return DataLoader(parts, sampler=sampler)
