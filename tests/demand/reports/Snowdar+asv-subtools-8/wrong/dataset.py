import torch
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from egs import ChunkEgs


class BaseBunch:
    def __init__(self, trainset, valid=None, use_fast_loader=False, batch_size=512, shuffle=True, num_workers=8):
        if torch.distributed.is_initialized():
            sampler = DistributedSampler(trainset, shuffle=shuffle)
            shuffle = False
        else:
            sampler = None
        self.train_loader = DataLoader(trainset, batch_size=batch_size, shuffle=shuffle, num_workers=num_workers,
                                       sampler=sampler, drop_last=True)
        self.valid_loader = None if valid is None else DataLoader(valid, batch_size=batch_size)

    @classmethod
    def get_bunch_from_csv(cls, train_csv, valid_csv, **params):
        return cls(ChunkEgs(train_csv), ChunkEgs(valid_csv), **params)
