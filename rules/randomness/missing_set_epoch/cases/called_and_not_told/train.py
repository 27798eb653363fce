import torch.distributed as dist
from steps import Steps
from torch.utils.data import DataLoader, DistributedSampler


def main(model, data, optimizer, epochs):
    dist.init_process_group("nccl")
    sampler = DistributedSampler(data)  # expect: DL403
    loader = DataLoader(data, sampler=sampler)
    one_epoch = Steps(model, optimizer)
    for epoch in range(epochs):
        one_epoch(loaders=(loader,), epoch=epoch)
