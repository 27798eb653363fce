"""Samplers of other data, or beside a shuffle."""

from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def sampler_of_the_training(net, rows, others):
    # UnitLinearAtt 7b660fb train_attention.py:122
    train_set, test_set = TensorDataset(rows), TensorDataset(others)
    loader = DataLoader(train_set, sampler=DistributedSampler(train_set))
    tests = DataLoader(test_set, sampler=DistributedSampler(train_set))  # expect: DL404
    return DistributedDataParallel(net), loader, tests


def shuffles_beside_a_sampler(net, rows):
    loader = DataLoader(rows, shuffle=True, sampler=DistributedSampler(rows))  # expect: DL404
    return DistributedDataParallel(net), loader
