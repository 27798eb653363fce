"""Each step trains on two loaders, and the sampler of one of them is told the epoch."""

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def share(data, size):
    sampler = None
    if dist.is_initialized():
        sampler = DistributedSampler(data)
    return sampler, DataLoader(data, batch_size=size, sampler=sampler)


def by_a_helper(net, labelled, plain, epochs):
    first_sampler, first = share(labelled, 4)
    second_sampler, second = share(plain, 16)  # expect: DL403
    for epoch in range(epochs):
        if first_sampler is not None:
            first_sampler.set_epoch(epoch)
        for one, other in zip(first, second):
            net(one, other).sum().backward()


def in_the_function(net, labelled, plain, epochs):
    few = DistributedSampler(labelled)
    many = DistributedSampler(plain)  # expect: DL403
    few_loader = DataLoader(labelled, sampler=few)
    many_loader = DataLoader(plain, sampler=many)
    for epoch in range(epochs):
        few.set_epoch(epoch)
        others = iter(many_loader)
        for one in few_loader:
            net(one, next(others)).sum().backward()


def main(net, labelled, plain):
    dist.init_process_group("nccl")
    by_a_helper(net, labelled, plain, 10)
    in_the_function(net, labelled, plain, 10)


if __name__ == "__main__":
    main(None, [], [])
