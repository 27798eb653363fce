import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def one_epoch(model, loader, optimizer, epoch):
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()
    print(epoch)


def train(model, data, optimizer, epochs):
    def divided(data):
        sampler = DistributedSampler(data)
        return DataLoader(data, sampler=sampler)

    loader = divided(data)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        one_epoch(model, loader, optimizer, epoch)


def train_at_last(model, data, optimizer, epochs):
    # sngp-segmentation 83be6ea sngp_segmentation/train.py:538
    loader = DataLoader(data, shuffle=True)
    for epoch in range(epochs):
        one_epoch(model, loader, optimizer, epoch)


def main(model, data, optimizer):
    dist.init_process_group("nccl")
    train(model, data, optimizer, 2)
    train_at_last(model, data, optimizer, 2)
