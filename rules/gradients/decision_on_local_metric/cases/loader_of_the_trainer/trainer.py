"""A trainer that hands itself to its hooks."""

import torch.distributed as dist
from hooks import Evaluates, EvaluatesTogether
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Trainer:
    def __init__(self, model, data, writer):
        self.model = DistributedDataParallel(model)
        self.writer = writer
        self.val_loader = self.build_val_loader(data)
        self.hooks = [Evaluates(), EvaluatesTogether()]
        for hook in self.hooks:
            hook.trainer = self

    def build_val_loader(self, data):
        sampler = DistributedSampler(data) if dist.get_world_size() > 1 else None
        return DataLoader(data, sampler=sampler)
