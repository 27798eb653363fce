"""A seed to which a rank is added where there is one."""

import random

import torch


def set_seed(seed, dp_rank=None):
    if dp_rank is not None:
        seed = seed + dp_rank
    random.seed(seed)
    torch.manual_seed(seed)
