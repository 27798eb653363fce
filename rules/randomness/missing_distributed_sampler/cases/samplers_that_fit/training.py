"""Samplers of the loader's own data, or of the same rows."""

from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from labels import with_labels


def samplers_of_their_own(net, rows, others):
    train_set, test_set = TensorDataset(rows), TensorDataset(others)
    sampler = DistributedSampler(train_set)
    loader = DataLoader(train_set, sampler=sampler, shuffle=False)
    tests = DataLoader(test_set, sampler=DistributedSampler(test_set))
    return DistributedDataParallel(net), loader, tests


def sampler_of_the_same_rows(net, rows):
    train_set = TensorDataset(rows)
    eval_set = with_labels(train_set)
    loader = DataLoader(train_set, sampler=DistributedSampler(train_set))
    tests = DataLoader(eval_set, sampler=DistributedSampler(train_set))
    return DistributedDataParallel(net), loader, tests


def shuffles_without_a_sampler(net, rows, several):
    sampler = None
    if several:
        sampler = DistributedSampler(rows)
    loader = DataLoader(rows, shuffle=sampler is None, sampler=sampler)
    return DistributedDataParallel(net), loader
