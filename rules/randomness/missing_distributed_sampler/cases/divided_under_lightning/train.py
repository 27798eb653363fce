"""A Trainer that leaves the samplers alone, since each has its part; one that divides."""

import lightning.pytorch as pl
from samplers import ByRank
from torch.utils.data import DataLoader


def by_rank(model, data, rank, world_size):
    trainer = pl.Trainer(devices=8, strategy="ddp", use_distributed_sampler=False)
    loader = DataLoader(data, batch_size=8, sampler=ByRank(data.tasks, rank, world_size))
    trainer.fit(model, loader)
