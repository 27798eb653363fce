"""SinSR f173549 trainer.py:867: the loader of the evaluation is that of another key, and whole."""

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


class Trainer:
    def __init__(self, model, training, validation, log):
        self.model, self.log = model, log
        loaders = {"train": DataLoader(training, sampler=DistributedSampler(training))}
        if dist.get_rank() == 0:
            loaders["val"] = DataLoader(validation)
        self.loaders = loaders

    def train(self, steps):
        for _ in range(steps):
            self.model.step(self.loaders["train"])
            self.evaluate()

    def evaluate(self, phase="val"):
        mean_score = 0.0
        for batch in self.loaders[phase]:
            mean_score += self.model.score(batch).item()
        mean_score /= len(self.loaders[phase])
        self.log.info(f"{phase}: {mean_score}")
