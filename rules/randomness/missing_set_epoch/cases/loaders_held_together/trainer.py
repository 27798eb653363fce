"""A Trainer whose loaders are in an object that `prepare()` gives back as it is."""

from lightning.pytorch.utilities import CombinedLoader
from torch.utils.data import DataLoader, DistributedSampler
from transformers import Trainer


class TwoTasks(Trainer):
    # OmniMamba b372978 trainer.py:110
    def get_train_dataloader(self):
        texts = DistributedSampler(self.texts, shuffle=True)  # expect: DL403
        both = CombinedLoader({"texts": DataLoader(self.texts, sampler=texts)}, mode="min_size")
        return self.accelerator.prepare(both)
