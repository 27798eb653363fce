"""One object for all that know the process: what a launcher says is read once, into a state that all share."""

import os

import torch.distributed as dist


class Ranks:
    _state = {}

    def __new__(cls):
        one = super().__new__(cls)
        one.__dict__ = cls._state
        if not hasattr(one, "_rank"):
            one._rank = 0
        if not hasattr(one, "_world_size"):
            one._world_size = 1
        return one

    @property
    def rank(self):
        return self._rank

    @property
    def local_rank(self):
        return self._local_rank

    @property
    def world_size(self):
        return self._world_size

    @staticmethod
    def initialize():
        one = Ranks()
        one._rank = int(os.environ.get("RANK"))
        one._world_size = int(os.environ.get("WORLD_SIZE"))
        one._local_rank = int(os.environ.get("LOCAL_RANK"))
        dist.init_process_group("nccl", rank=one.rank, world_size=one.world_size)


class Update:
    """The rank of a matrix: nobody asks a launcher for it."""

    def __init__(self, rank):
        self._rank = rank

    @property
    def rank(self):
        return self._rank
