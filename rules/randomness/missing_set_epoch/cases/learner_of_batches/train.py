"""One learner on each GPU."""

import torch

from batches import batches_of
from tqdm import tqdm


class Learns:
    # wavegrad c3d54c8 src/wavegrad/learner.py:103
    def __init__(self, model, dataset, is_main):
        self.model, self.is_main, self.step = model, is_main, 0
        self.dataset = dataset

    def train(self, steps):
        while True:
            for batch in tqdm(self.dataset, desc="batches") if self.is_main else self.dataset:
                if self.step >= steps:
                    return
                self.model(batch).sum().backward()
                self.step += 1


def learn(rank, model, dataset, steps):
    learner = Learns(model, dataset, rank == 0)
    learner.train(steps)


def learn_on_many(rank, model, data):
    torch.distributed.init_process_group("nccl", rank=rank)
    learn(rank, model, batches_of(data, is_distributed=True), 1000)
