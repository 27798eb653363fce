"""Evaluations that each rank makes by itself."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, SequentialSampler

# Bugs


def evaluate(loader, model):
    return sum(model(batch).sum().item() for batch in loader)


def validate_network(model, loader):
    return sum(model(batch).sum().item() for batch in loader)


def plain(train, model, train_set, val_set):
    train_loader = DataLoader(train_set, sampler=DistributedSampler(train_set))
    val_loader = DataLoader(val_set, batch_size=64, shuffle=False)  # expect: DL624
    train(train_loader, model)
    return evaluate(val_loader, model)


def by_an_option(train, model, dataset_train, dataset_val, args):
    sampler_train = DistributedSampler(dataset_train)
    if args.dist_eval:
        sampler_val = DistributedSampler(dataset_val, drop_last=True)
    else:
        sampler_val = SequentialSampler(dataset_val)  # expect: DL624
    data_loader_val = DataLoader(dataset_val, sampler=sampler_val)
    train(DataLoader(dataset_train, sampler=sampler_train), model)
    return evaluate(data_loader_val, model)


def by_keyword(train, model, train_set, test_set):
    test_loader = DataLoader(test_set, sampler=None)  # expect: DL624
    train(DataLoader(train_set, sampler=DistributedSampler(train_set)), model)
    return validate_network(model, loader=test_loader)


def by_what_the_function_does(train, model, train_set, dataset_val):
    # fractalgen main_fractalgen.py:173
    sampler = DistributedSampler(train_set)
    data_loader_val = DataLoader(dataset_val, shuffle=True)  # expect: DL624
    train(DataLoader(train_set, sampler=sampler), model)
    return compute_nll(model, data_loader_val)


@torch.no_grad()
def compute_nll(model, loader):
    total = torch.zeros(1)
    for batch in loader:
        total += model(batch)
    dist.all_reduce(total)
    return total


def a_loader_for_each_set(train, model, train_set, val_sets):
    # croco stereoflow/train.py:336
    sampler = DistributedSampler(train_set)
    val_loaders = [DataLoader(each) for each in val_sets]  # expect: DL624
    train(DataLoader(train_set, sampler=sampler), model)
    return evaluate(val_loaders, model)


# Look-alikes


def divided(train, model, train_set, val_set):
    train_loader = DataLoader(train_set, sampler=DistributedSampler(train_set))
    sampler = DistributedSampler(val_set, shuffle=False, drop_last=True)
    val_loader = DataLoader(val_set, sampler=sampler)
    train(train_loader, model)
    return evaluate(val_loader, model)


def on_rank_0(train, model, train_set, val_set):
    train_loader = DataLoader(train_set, sampler=DistributedSampler(train_set))
    val_loader = DataLoader(val_set, batch_size=64)
    train(train_loader, model)
    if dist.get_rank() == 0:
        return evaluate(val_loader, model)
    return None


def for_one_process(train, model, train_set, val_set, distributed):
    if distributed:
        sampler = DistributedSampler(train_set)
        val_loader = DataLoader(val_set, sampler=DistributedSampler(val_set, drop_last=True))
    else:
        sampler = None
        val_loader = DataLoader(val_set)
    train(DataLoader(train_set, sampler=sampler), model)
    return evaluate(val_loader, model)


def never_evaluated(train, model, train_set, val_set):
    train_loader = DataLoader(train_set, sampler=DistributedSampler(train_set))
    val_loader = DataLoader(val_set)
    train(train_loader, model)
    return len(val_loader)


def of_one_process(train, model, train_set, val_set):
    train(DataLoader(train_set, shuffle=True), model)
    val_loader = DataLoader(val_set)
    return evaluate(val_loader, model)


def shown_to_a_person(train, model, train_set, val_set):
    train_loader = DataLoader(train_set, sampler=DistributedSampler(train_set))
    val_loader = DataLoader(val_set)
    train(train_loader, model)
    return describe(val_loader)


def describe(loader):
    return [len(batch) for batch in loader]
