"""A few samples of each class, drawn by a stream that nothing seeds, become the list of a data set."""

import random

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Clips(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, number):
        return self.rows[number]


def main(model, rows, shots):
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    np.random.seed(0)
    data, by_class = Clips(rows), {}
    for row in data.rows:
        by_class.setdefault(row[0], []).append(row)
    few = []
    for each in by_class.values():
        few.extend(random.sample(each, shots))  # expect: DL405
    data.rows = few
    model = DistributedDataParallel(model)
    shown = random.sample(few, 2)
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        model(batch).mean().backward()
    print(shown)


if __name__ == "__main__":
    main(None, [], 4)
