"""Samplers that know of no ranks, and one that does."""

import numpy as np
from torch.utils.data import Sampler


class ByTask(Sampler):
    # UniControl 472c6cd train_util/multi_task_scheduler.py:19
    def __init__(self, tasks):
        self.tasks = tasks

    def __iter__(self):
        for task in np.random.permutation(len(self.tasks)):
            yield from self.tasks[task]


class ByRank(Sampler):
    def __init__(self, tasks, rank, world_size):
        self.tasks, self.rank, self.world_size = tasks, rank, world_size

    def __iter__(self):
        yield from self.tasks[self.rank :: self.world_size]
