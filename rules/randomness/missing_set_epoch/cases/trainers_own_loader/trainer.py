"""A Trainer that gives a loader which it has not prepared."""

from torch.utils.data import DataLoader, DistributedSampler
from transformers import Trainer


class KeepsItsLoader(Trainer):
    # pyreft pyreft/reft_trainer.py:163
    def get_train_dataloader(self):
        sampler = DistributedSampler(self.train_dataset, shuffle=True)  # expect: DL403
        return DataLoader(self.train_dataset, sampler=sampler)
