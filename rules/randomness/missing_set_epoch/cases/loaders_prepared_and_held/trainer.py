"""A Trainer whose loaders are prepared one by one before they come into an object that holds them."""

from lightning.pytorch.utilities import CombinedLoader
from torch.utils.data import DataLoader, DistributedSampler
from transformers import Trainer


class TwoTasks(Trainer):
    def get_train_dataloader(self):
        texts = DistributedSampler(self.texts, shuffle=True)
        loader = self.accelerator.prepare(DataLoader(self.texts, sampler=texts))
        return CombinedLoader({"texts": loader}, mode="min_size")
