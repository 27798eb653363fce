"""What starts the ranks, and seeds them alike when it is made."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Accelerator:
    def __init__(self, seed=42):
        dist.init_process_group("nccl")
        self._set_seed(seed)  # expect: DL401

    def _set_seed(self, seed):
        torch.manual_seed(seed)

    def wrap(self, model):
        return DistributedDataParallel(model)
