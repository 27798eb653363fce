"""What makes batches, with noise or as they are."""

import random

import torch


def as_they_are(rows):
    return torch.stack(rows)


def with_noise(config):
    def batched(rows):
        whole = torch.stack(rows)
        whole += config.scale * torch.rand(whole.size())
        if random.random() < config.rate:
            whole[:, random.randint(0, config.last)] = 0
        return whole

    return batched
