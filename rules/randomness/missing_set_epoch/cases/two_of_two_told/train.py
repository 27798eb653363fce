"""Each step trains on two loaders whose samplers are told, or on one beside which another is only measured, in its order."""

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def share(data, size):
    sampler = DistributedSampler(data)
    return DataLoader(data, batch_size=size, sampler=sampler), sampler


def both(net, labelled, plain, epochs):
    first, first_sampler = share(labelled, 4)
    second, second_sampler = share(plain, 16)
    for epoch in range(epochs):
        for each in (first_sampler, second_sampler):
            each.set_epoch(epoch)
        first_sampler.set_epoch(epoch)
        for one, other in zip(first, second):
            net(one, other).sum().backward()


def through_the_loader(net, labelled, plain, epochs):
    first, first_sampler = share(labelled, 4)
    second, second_sampler = share(plain, 16)
    for epoch in range(epochs):
        first_sampler.set_epoch(epoch)
        second.sampler.set_epoch(epoch)
        for one, other in zip(first, second):
            net(one, other).sum().backward()


def measured(net, data, held_out, epochs):
    loader, sampler = share(data, 4)
    val_loader, val_sampler = share(held_out, 4)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for number, batch in enumerate(loader):
            net(batch).sum().backward()
            if number % 100 == 0:
                print(sum(net(each).item() for each in val_loader))


def in_order(net, labelled, plain, epochs):
    few = DistributedSampler(labelled)
    same = DistributedSampler(plain, shuffle=False)
    few_loader = DataLoader(labelled, sampler=few)
    same_loader = DataLoader(plain, sampler=same)
    for epoch in range(epochs):
        few.set_epoch(epoch)
        for one, other in zip(few_loader, same_loader):
            net(one, other).sum().backward()


def main(net, labelled, plain):
    dist.init_process_group("nccl")
    both(net, labelled, plain, 10)
    through_the_loader(net, labelled, plain, 10)
    measured(net, labelled, plain, 10)
    in_order(net, labelled, plain, 10)


if __name__ == "__main__":
    main(None, [], [])
