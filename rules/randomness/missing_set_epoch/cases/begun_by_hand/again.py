"""Hands out the batches of a loader for ever."""

import torch.distributed as dist


def is_first():
    return dist.get_rank() == 0


def for_ever(batches):
    going = batches.__iter__()
    while True:
        try:
            yield going.__next__()
        except StopIteration:
            going = batches.__iter__()
