import torch
from torchmetrics import Metric


class Hits(Metric):
    def __init__(self):
        super().__init__()
        self.add_state("hits", default=torch.tensor(0), dist_reduce_fx="sum")

    def update(self, predictions, labels):
        self.hits += (predictions == labels).sum()

    def compute(self):
        return self.hits
