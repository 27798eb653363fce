"""Ranks that divide what was read."""

import torch.distributed as dist
from scanned import Pages, Source
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class OfSource(Dataset):
    def __init__(self, source):
        self.source = source

    def __len__(self):
        return len(self.source)

    def __getitem__(self, index):
        return self.source.sample(index)


def main(files, read, kind):
    dist.init_process_group("nccl")
    data = OfSource(Source(files, read)) if kind == "source" else Pages(files, read)
    return DataLoader(data, sampler=DistributedSampler(data))
