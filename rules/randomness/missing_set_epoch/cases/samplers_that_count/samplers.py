"""Samplers of the project's own, which order by the epoch that they are told, or count themselves."""

import torch
from torch.utils.data import DistributedSampler, Sampler


class ResumingSampler(Sampler):
    # VoiceCraft a702dfd steps/trainer_utils.py:51
    def __init__(self, data, rank, ranks, shuffle=True):
        self.data, self.rank, self.ranks, self.shuffle, self.epoch = data, rank, ranks, shuffle, 0
        self.order = list(range(rank, len(data), ranks))

    def set_epoch(self, epoch):
        self.epoch = epoch
        self.order = self._ordered()[self.rank :: self.ranks]

    def _ordered(self):
        g = torch.Generator()
        g.manual_seed(self.epoch)
        return torch.randperm(len(self.data), generator=g).tolist()

    def __iter__(self):
        self.epoch += 1
        self.set_epoch(self.epoch)
        yield from self.order


class PartSampler(DistributedSampler):
    # VideoSys 4cce477 videosys/training/datasets/open_sora/sampler.py:41
    begin = 0

    def __iter__(self):
        # Painter cfec845 Painter/data/sampler.py: what is drawn anew needs no other order
        self.dataset = list(self.drawn)
        return iter(list(super().__iter__())[self.begin :])
