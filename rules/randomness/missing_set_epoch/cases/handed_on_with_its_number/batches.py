"""Loaders, and batches without an end that no script makes."""

from torch.utils.data import DataLoader, DistributedSampler, RandomSampler


class Again:
    def __init__(self, batches, number):
        self.batches, self.number = batches, number

    def __iter__(self):
        done = 0
        while done < self.number:
            self.batches.sampler.set_epoch(done)
            for batch in self.batches:
                done += 1
                yield batch


def made_again(data, batches, number):
    return DataLoader(data, batch_sampler=Again(batches, number))


def loader_of(args, data):
    if args.several:
        sampler = DistributedSampler(data)  # expect: DL403
    else:
        sampler = RandomSampler(data)
    return DataLoader(data, sampler=sampler)


def loaders_of(args, first, second):
    return loader_of(args, first), loader_of(args, second)
