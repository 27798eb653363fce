"""A Trainer that gives a loader which it has not prepared, where the page names an old transformers: that tells its sampler."""

from torch.utils.data import DataLoader, DistributedSampler
from transformers import Trainer


class KeepsItsLoaderAsOfOld(Trainer):
    # mPLUG-DocOwl f91a768 UReader/pipeline/trainer.py:19; transformers 4.30.2 trainer.py:1882
    def get_train_dataloader(self):
        sampler = DistributedSampler(self.train_dataset, shuffle=True)
        return DataLoader(self.train_dataset, sampler=sampler)
