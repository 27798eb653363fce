"""Workers that each rank seeds for itself, beside a model that draws in the rank's own process: HLLM 2deed17 code/run.py:74."""

import random
from functools import partial

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


class Denoiser(nn.Module):
    def forward(self, images):
        noise = torch.randn_like(images)
        return (self.net(images + noise) - noise).square().mean()


def start_worker(number, rank):
    random.seed(100 * rank + number)


def train(args, data, optimizer):
    dist.init_process_group("nccl")
    torch.manual_seed(args.seed)  # expect: DL401
    start = partial(start_worker, rank=dist.get_rank())
    loader = DataLoader(data, num_workers=4, worker_init_fn=start)
    model = DistributedDataParallel(Denoiser())
    for batch in loader:
        model(batch).backward()
        optimizer.step()


if __name__ == "__main__":
    train(None, None, None)
