"""Optimizers of models that are sharded."""

import torch
from accelerate import Accelerator
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

# Bugs


def wrapped_after(model, rate):
    # expect: DL610
    model = FSDP(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    return model, optimizer


def sharded_in_place(model, rate):
    # expect: DL610
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    return model, optimizer


# Correct


def wrapped_before(model, rate):
    model = FSDP(model)
    return model, torch.optim.AdamW(model.parameters(), lr=rate)


def made_anew(model, rate):
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    model = FSDP(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    return model, optimizer


def with_the_original_parameters(model, rate):
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    model = FSDP(model, use_orig_params=True)
    return model, optimizer


def replicated(model, rate):
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    model = DistributedDataParallel(model)
    return model, optimizer


def of_another_model(model, other, rate):
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    other = FSDP(other)
    return model, other, optimizer


def by_accelerate(model, rate):
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    return Accelerator().prepare(model, optimizer)


def sharded_by_a_flag(model, rate, flag):
    # expect: DL610
    if flag:
        model = FSDP(model, use_orig_params=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    return model, optimizer


def groups_of(model, rate):
    return torch.optim.AdamW([{"params": list(model.parameters())}], lr=rate)


def made_by_a_function(model, rate):
    # expect: DL610
    model = FSDP(model)
    optimizer = groups_of(model, rate)
    return model, optimizer


def made_anew_under_the_flag(model, rate, flag):
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    if flag:
        model = FSDP(model)
        optimizer = groups_of(model, rate)
    return model, optimizer
