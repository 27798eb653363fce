"""Trains a wrapped model from what another file has made."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from data import Data, by_phase, split, with_settings


def one_epoch(net, batches, optimizer):
    for images, labels in batches:
        loss = torch.nn.functional.cross_entropy(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def train(rank, ranks, net, folder):
    dist.init_process_group("nccl", rank=rank, world_size=ranks)
    net = DDP(net)
    optimizer = torch.optim.SGD(net.parameters())
    loaders, _ = by_phase(folder)
    one_epoch(net, loaders["train"], optimizer)
    one_epoch(net, with_settings(folder).get("train"), optimizer)
    data = Data(folder)
    data.set_up()
    one_epoch(net, data.for_training(), optimizer)
    one_epoch(net, data.kept, optimizer)
    one_epoch(net, data.shuffled, optimizer)
    one_epoch(net, split(folder).loader, optimizer)
