"""As a sampler of batches draws again from the sampler inside, it tells it how often."""

import torch.distributed as dist
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler


class Until(BatchSampler):
    def __init__(self, batch_sampler, count):
        self.batch_sampler, self.count = batch_sampler, count

    def __iter__(self):
        done = 0
        while done <= self.count:
            if hasattr(self.batch_sampler.sampler, "set_epoch"):
                self.batch_sampler.sampler.set_epoch(done)
            for batch in self.batch_sampler:
                done += 1
                if done > self.count:
                    break
                yield batch


def train(model, data, steps):
    dist.init_process_group("nccl")
    sampler = DistributedSampler(data, shuffle=True)
    for batch in DataLoader(data, batch_sampler=Until(BatchSampler(sampler, 8, False), steps)):
        model(batch).sum().backward()
