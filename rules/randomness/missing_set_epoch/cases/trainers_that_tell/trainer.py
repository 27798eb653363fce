"""Trainers whose loaders are prepared, told by hand, or in one order on purpose."""

from torch.utils.data import DataLoader, DistributedSampler
from transformers import Trainer


class PreparesItsLoader(Trainer):
    def get_train_dataloader(self):
        sampler = DistributedSampler(self.train_dataset, shuffle=True)
        return self.accelerator.prepare(DataLoader(self.train_dataset, sampler=sampler))


class TellsItsSampler(Trainer):
    def get_train_dataloader(self):
        self.sampler = DistributedSampler(self.train_dataset, shuffle=True)
        return DataLoader(self.train_dataset, sampler=self.sampler)

    def training_step(self, model, inputs, num_items_in_batch=None):
        self.sampler.set_epoch(int(self.state.epoch))
        return super().training_step(model, inputs, num_items_in_batch)


class KeepsAnOrder(Trainer):
    def get_train_dataloader(self):
        return DataLoader(self.train_dataset, sampler=DistributedSampler(self.train_dataset, shuffle=False))
