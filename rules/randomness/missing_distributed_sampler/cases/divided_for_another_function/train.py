"""Trains from loaders that are divided, each in another function, and on one process from one that is not."""

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from data import Lines, chosen, dealt, drawn, made_up, stream


def on_dealt(net, names):
    for batch in dealt(names):
        net(batch).mean().backward()


def on_drawn(net):
    for batch in drawn():
        net(batch).mean().backward()


def on_stream(net):
    for batch in stream():
        net(batch).mean().backward()


def on_made_up(net):
    for batch in made_up():
        net(batch).mean().backward()


def on_chosen(net, lines, samplers):
    for batch in chosen(lines, samplers):
        net(batch).mean().backward()


def measure(net, batches):
    for batch in batches:
        net(batch)


def alone(plain, batches):
    for batch in batches:
        plain(batch).mean().backward()


def main(net, lines, samplers):
    dist.init_process_group("nccl")
    wrapped = DDP(net)
    on_dealt(wrapped, lines)
    on_drawn(wrapped)
    on_stream(wrapped)
    on_made_up(wrapped)
    on_chosen(wrapped, lines, samplers)
    measure(wrapped, DataLoader(Lines(lines)))
    alone(net, DataLoader(Lines(lines)))


if __name__ == "__main__":
    main(None, [], None)
