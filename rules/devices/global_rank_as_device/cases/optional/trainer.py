"""A trainer that chooses a device by an option of the script which makes it."""

import torch
from torch.nn.parallel import DistributedDataParallel


class Trainer:
    def __init__(self, args, model):
        self.args = args
        self.model = DistributedDataParallel(model)

    def resume(self, path):
        state = torch.load(path, map_location="cuda:{}".format(self.args.rank))  # expect: DL504
        self.model.load_state_dict(state)


class Mark:
    @staticmethod
    def forward(ctx, rank):
        ctx.rank = rank
        return rank
