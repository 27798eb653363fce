"""A module that Lightning's strategy wraps, read by the loader that the data module makes."""

from lightning import Callback, LightningDataModule
from lightning.pytorch.cli import LightningCLI
from torch.utils.data import DataLoader, DistributedSampler


class Texts(LightningDataModule):
    def train_dataloader(self):
        size, rank = self.trainer.world_size, self.trainer.global_rank
        sampler = DistributedSampler(self.texts, num_replicas=size, rank=rank)
        length = self.trainer.model.longest  # expect: DL201
        return DataLoader(self.texts, sampler=sampler, batch_size=length)


class Longest(Callback):
    @staticmethod
    def of(trainer):
        # anemoi-core 2cb9b6e training/src/anemoi/training/diagnostics/callbacks/checkpoint.py:59
        return trainer.model.module.longest if hasattr(trainer.model, "module") else trainer.model.longest

    @staticmethod
    def of_texts(trainer):
        return trainer.model.module.longest if trainer.texts else trainer.model.longest  # expect: DL201

    def on_train_end(self, trainer, module):
        return self.of(trainer), self.of_texts(trainer)


def main():
    LightningCLI(datamodule_class=Texts, trainer_defaults={"strategy": "ddp"})
