import torch
from torchmetrics import Metric


class Hits:
    def __init__(self):
        self.hits = torch.tensor(0)

    def update(self, predictions, labels):
        self.hits += (predictions == labels).sum()

    def compute(self):
        return self.hits


class Misses(Metric):
    # What is only an attribute is no state: nothing synchronises it.
    def __init__(self):
        super().__init__()
        self.misses = 0

    def update(self, predictions, labels):
        self.misses += (predictions != labels).sum()

    def compute(self):
        return self.misses
