"""A sampler that shuffles with Python's stream, which the Trainer seeds alike on all ranks."""

import random

import torch.distributed as dist
from torch.utils.data import DataLoader, Sampler
from transformers import Trainer, TrainingArguments


class Shuffled(Sampler):
    def __init__(self, rows):
        self.rows = rows
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def __iter__(self):
        order = list(range(len(self.rows)))
        random.shuffle(order)
        return iter(order[self.rank :: self.size])


class Training(Trainer):
    def get_train_dataloader(self):
        return DataLoader(self.train_dataset, sampler=Shuffled(self.train_dataset))


if __name__ == "__main__":
    Training(None, TrainingArguments("out"), train_dataset=list(range(8))).train()
