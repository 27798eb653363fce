"""Loaders of two kinds, of which the program asks for one."""

from torch.utils.data import DataLoader, DistributedSampler



def chosen(data, whole):
    if whole:
        return of_all(data)
    else:
        return of_some(data)


def of_all(data):
    return DataLoader(data, sampler=DistributedSampler(data))  # expect: DL403


def of_some(data):
    # research-contributions 21ed8e5 DAE/Pretrain_full_contrast/data/data_finetune.py:20
    return DataLoader(data[:100], sampler=DistributedSampler(data[:100]))
