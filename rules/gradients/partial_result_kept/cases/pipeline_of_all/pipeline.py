"""A pipeline whose source gives each rank the part that it is told to."""

import numpy as np
import torch.distributed as dist


class Pipeline:
    def __init__(self, samples, process_rank=0, world_size=1):
        self.samples = samples
        self.process_rank = process_rank
        self.world_size = world_size
        self.source = self.opened()

    def opened(self):
        return Source(self.samples, process_rank=self.process_rank, world_size=self.world_size)

    def __iter__(self):
        return map(self.source, range(len(self.source.indices)))


class Source:
    def __init__(self, samples, process_rank=0, world_size=1):
        assert world_size == 1 or dist.is_initialized()
        self.samples = samples
        self.indices = np.array_split(np.arange(len(samples)), world_size)[process_rank]

    def __call__(self, place):
        return self.samples[self.indices[place]]
