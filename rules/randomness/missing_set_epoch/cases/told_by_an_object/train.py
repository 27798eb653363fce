import torch.distributed as dist
from steps import Steps
from torch.utils.data import DataLoader, DistributedSampler


def main(model, data, optimizer, epochs):
    # ICML25_10807_BiSSL 3bdeed4 bissl.py:420
    dist.init_process_group("nccl")
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler)
    one_epoch = Steps(model, optimizer)
    for epoch in range(epochs):
        one_epoch(loaders=(loader,), samplers=(sampler,), epoch=epoch)
