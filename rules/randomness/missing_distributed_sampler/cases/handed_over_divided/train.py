"""Trains a wrapped model from what another file has made."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from data import Data, by_phase, split, updated, with_settings, with_unknown_settings


def one_epoch(net, batches, optimizer):
    for images, labels in batches:
        loss = torch.nn.functional.cross_entropy(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def hits(net, batches):
    return sum((net(images).argmax(1) == labels).sum() for images, labels in batches)


def train(rank, ranks, net, folder, settings):
    dist.init_process_group("nccl", rank=rank, world_size=ranks)
    net = DDP(net)
    optimizer = torch.optim.SGD(net.parameters())
    for epoch in range(10):
        loaders, _ = by_phase(folder)
        loaders["train"].sampler.set_epoch(epoch)
        one_epoch(net, loaders["train"], optimizer)
        divided = with_settings(folder)
        divided["train"].sampler.set_epoch(epoch)
        one_epoch(net, divided["train"], optimizer)
        one_epoch(net, with_unknown_settings(folder, settings)["train"], optimizer)
        one_epoch(net, updated(folder)["train"], optimizer)
        data = Data(folder)
        data.set_up()
        one_epoch(net, data.for_training(), optimizer)
        one_epoch(net, data.kept, optimizer)
        one_epoch(net, data.shuffled, optimizer)
        one_epoch(net, split(folder).loader, optimizer)
        hits(net, data.for_all())
        hits(net, divided["val"])
