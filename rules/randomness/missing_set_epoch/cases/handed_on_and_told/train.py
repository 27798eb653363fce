"""Who is handed the number tells the sampler."""

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def loader_of(data):
    return DataLoader(data, sampler=DistributedSampler(data))


def once(net, optimizer, turn, given):
    given.sampler.set_epoch(turn)
    for batch in given:
        net(batch).sum().backward()
        optimizer.step()


def main(args, data, net, optimizer):
    dist.init_process_group("nccl")
    ones = loader_of(data)
    for turn in range(args.turns):
        once(net, optimizer, turn, ones)
