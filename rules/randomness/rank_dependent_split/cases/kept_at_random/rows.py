"""Data sets that keep some of their samples, by a stream that the rank seeds."""

import random

import torch
from torch.utils.data import Dataset, Subset


class Rows(Dataset):
    def __init__(self, path, share):
        self.share = share
        self.load(path)

    def load(self, path):
        # Uni-Perceiver a8c9e37 uniperceiver/datasets/task_dataset/vqa.py:209
        rows = []
        for kind in torch.load(path):
            rows.extend(random.sample(kind, k=int(self.share * len(kind))))  # expect: DL405
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, number):
        # One word of several for this time alone.
        return self.rows[number], random.sample(self.rows[number], 1)


def some(data, share):
    chosen = torch.randperm(len(data))[: int(share * len(data))]  # expect: DL405
    return Subset(data, chosen)


def masked(tokens, share):
    return tokens[:, torch.randperm(tokens.shape[1])[: int(share * tokens.shape[1])]]
