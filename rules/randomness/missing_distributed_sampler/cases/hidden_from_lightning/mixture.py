"""Batches of several loaders in turn, through no loader of torch."""

import lightning.pytorch as pl


class InTurn:
    # facebookresearch/multimodal 3c2a85a examples/common/data/multidata.py
    def __init__(self, loaders):
        self.loaders = loaders

    def __iter__(self):
        for batches in zip(*self.loaders):
            yield from batches


class Mixture(pl.LightningDataModule):
    def __init__(self, modules):
        super().__init__()
        self.modules = modules

    def train_dataloader(self):
        return InTurn([module.train_dataloader() for module in self.modules])  # expect: DL404
