"""Blocks in which ZeRO-3 parameters are whole, and what is written there."""

import deepspeed
import torch
from deepspeed import zero
from torch import nn

# Bugs


def average(model, smoothed, fetch):
    for param, other in zip(model.parameters(), smoothed.parameters()):
        params = fetch([param, other])
        with deepspeed.zero.GatheredParameters(
            params, enabled=len(params) > 0, modifier_rank=0
        ):
            data = param.data
            other.data.copy_(0.1 * data + 0.9 * other.data)  # expect: DL210


def first_values(head):
    with zero.GatheredParameters([head.weight, head.bias], modifier_rank=0):
        nn.init.normal_(head.weight, std=0.02)  # expect: DL210
        nn.init.zeros_(head.bias)


def new_rows(model, old):
    embeddings = model.get_input_embeddings()
    with deepspeed.zero.GatheredParameters(embeddings.weight, modifier_rank=0):
        embeddings.weight.data[old:] = embeddings.weight.data[:old].mean(0)  # expect: DL210


def all_of_it(model, state):
    with deepspeed.zero.GatheredParameters(list(model.parameters()), modifier_rank=0):
        model.load_state_dict(state)  # expect: DL210


def each(model):
    with deepspeed.zero.GatheredParameters(model.parameters(), modifier_rank=0):
        for param in model.parameters():
            param.data.mul_(0.5).add_(1)  # expect: DL210


# Correct


def handed_out(model, smoothed):
    for param, other in zip(model.parameters(), smoothed.parameters()):
        with deepspeed.zero.GatheredParameters([param, other], modifier_rank=0):
            other.data.copy_(0.1 * param.data + 0.9 * other.data)


def by_position(head):
    with zero.GatheredParameters([head.weight], 0):
        nn.init.normal_(head.weight)


def as_asked(head, rank):
    with zero.GatheredParameters([head.weight], modifier_rank=rank):
        nn.init.normal_(head.weight)


def read_only(model):
    embeddings = model.get_input_embeddings()
    with deepspeed.zero.GatheredParameters(embeddings.weight, modifier_rank=None):
        size = embeddings.weight.shape[0]
    return size


def read_into_a_dict(model, state):
    for name, param in model.named_parameters():
        with deepspeed.zero.GatheredParameters([param]):
            state[name] = param.data.cpu()


def read_into_another_tensor(model, total):
    for param in model.parameters():
        with deepspeed.zero.GatheredParameters([param]):
            total.add_(param.float().norm())
            param.requires_grad_(False)
            copy = torch.empty_like(param)
            copy.copy_(param)
