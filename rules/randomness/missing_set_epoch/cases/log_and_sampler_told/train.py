"""Tells its log the epoch."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from report import Report


def resume(report, loader):
    loader.sampler.set_epoch(report.epoch + 1)


def main(data):
    dist.init_process_group("nccl")
    loader = DataLoader(data, sampler=DistributedSampler(data))
    net = DDP(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters())
    report = Report()
    resume(report, loader)
    for epoch in range(10):
        report.set_epoch(epoch)
        loader.sampler.set_epoch(epoch)
        for batch in loader:
            loss = net(batch).sum()
            loss.backward()
            optimizer.step()
            report.add(loss.item())


if __name__ == "__main__":
    main(torch.load("data.pt"))
