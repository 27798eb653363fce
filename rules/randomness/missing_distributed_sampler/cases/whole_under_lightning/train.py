"""A Trainer that leaves the samplers alone, and loaders over all of the data."""

import lightning.pytorch as pl
from samplers import ByTask
from torch.utils.data import DataLoader, RandomSampler


def by_task(model, data):
    trainer = pl.Trainer(devices=8, strategy="ddp", use_distributed_sampler=False)
    loader = DataLoader(data, batch_size=8, sampler=ByTask(data.tasks))  # expect: DL404
    trainer.fit(model, loader)


def at_random(model, data):
    trainer = pl.Trainer(devices=8, use_distributed_sampler=False)
    trainer.fit(model, DataLoader(data, sampler=RandomSampler(data)))  # expect: DL404


def of_one_device(model, data):
    trainer = pl.Trainer(devices=1, use_distributed_sampler=False)
    trainer.fit(model, DataLoader(data, sampler=RandomSampler(data)))


def of_a_sampler_that_is_given(model, data, sampler):
    trainer = pl.Trainer(devices=8, use_distributed_sampler=False)
    trainer.fit(model, DataLoader(data, sampler=sampler))
