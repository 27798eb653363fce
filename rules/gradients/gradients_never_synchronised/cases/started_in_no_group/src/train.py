"""Asks for a group that nobody makes. SWELU_LLM 9af7041 src/train.py:97."""

import os

import fused_ops
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer:
    def __init__(self, model):
        self.together = dist.is_available() and dist.is_initialized()
        local_rank = 0
        if self.together:
            local_rank = int(os.environ["LOCAL_RANK"])
        self.model = model.to(f"cuda:{local_rank}")
        self.model = DDP(self.model) if self.together else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def train(self, batches):
        for batch in batches:
            fused_ops.mean(self.model(batch)).backward()
            self.optimizer.step()


if __name__ == "__main__":
    Trainer(torch.nn.Linear(8, 1)).train(torch.rand(10, 4, 8))
