"""A sampler of the program that cuts the batches of one of torch, which draws by each process's own stream."""

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler


class CutBatches(BatchSampler):
    def __init__(self, sampler, size, rank, world):
        super().__init__(sampler, size, True)
        self.rank, self.world = rank, world

    def __iter__(self):
        batch = []
        for place in self.sampler:
            batch.append(place)
            if len(batch) == self.batch_size:
                yield self._mine(batch)
                batch = []

    def _mine(self, batch):
        first = self.rank * self.batch_size // self.world
        return batch[first : first + self.batch_size // self.world]


class WholeBatches(BatchSampler):
    def __iter__(self):
        for batch in super().__iter__():
            yield batch[:8]


def train(net, rows, epoch):
    dist.init_process_group("nccl")
    np.random.seed(0)
    drawn = torch.Generator()
    drawn.manual_seed(epoch)
    of_all = RandomSampler(rows)  # expect: DL405
    rank, world = dist.get_rank(), dist.get_world_size()
    model = DistributedDataParallel(net)
    for sampler in (
        CutBatches(of_all, 8, rank, world),
        CutBatches(RandomSampler(rows, generator=drawn), 8, rank, world),
        CutBatches(SequentialSampler(rows), 8, rank, world),
        WholeBatches(RandomSampler(rows), 8, True),
    ):
        for batch in DataLoader(rows, batch_sampler=sampler):
            model(batch).mean().backward()
