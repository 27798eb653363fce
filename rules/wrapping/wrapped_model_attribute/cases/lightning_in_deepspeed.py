"""A module that Lightning's strategy wraps, read by the loader that the data module makes."""

from lightning import LightningDataModule
from lightning.pytorch.cli import LightningCLI
from torch.utils.data import DataLoader, DistributedSampler


class Texts(LightningDataModule):
    def train_dataloader(self):
        size, rank = self.trainer.world_size, self.trainer.global_rank
        sampler = DistributedSampler(self.texts, num_replicas=size, rank=rank)
        length = self.trainer.model.longest  # RWKV-infctx-trainer 70d02c4 RWKV-v5/src/data.py:1796
        return DataLoader(self.texts, sampler=sampler, batch_size=length)


def main():
    LightningCLI(datamodule_class=Texts, trainer_defaults={"strategy": "deepspeed_stage_2_offload"})
