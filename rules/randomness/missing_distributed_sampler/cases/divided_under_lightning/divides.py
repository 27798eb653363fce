import lightning.pytorch as pl
from torch.utils.data import DataLoader, RandomSampler


def at_random(model, data):
    trainer = pl.Trainer(devices=8)
    trainer.fit(model, DataLoader(data, sampler=RandomSampler(data)))
