"""What makes batches of texts as long as the longest one, with noise or as they are."""

import torch
from torch.nn.utils.rnn import pad_sequence


def as_they_are(rows):
    return pad_sequence(rows, batch_first=True)


def with_noise(config):
    def batched(rows):
        whole = pad_sequence(rows, batch_first=True)
        return torch.where(torch.rand(whole.size()) < config.rate, config.mask, whole)

    return batched
