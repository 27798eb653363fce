"""Loaders of batches without an end, which tell their sampler."""

from torch.utils.data import BatchSampler, DataLoader, DistributedSampler


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


def loaders_of(args, first, second):
    return tuple(
        DataLoader(data, batch_sampler=Again(BatchSampler(DistributedSampler(data), 8, True), args.steps))
        for data in (first, second)
    )
