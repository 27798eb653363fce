"""Epochs that are numbered behind the bar that shows them."""

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from tqdm import trange


def main(model, data, args):
    dist.init_process_group("nccl")
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler)
    shown = trange(int(args.num_train_epochs), desc="Epoch")
    for number, _ in enumerate(shown):
        sampler.set_epoch(number)
        for batch in loader:
            model(batch).sum().backward()
