"""A name that the top of the file sets on rank 0 alone, and functions that all ranks run."""

import torch
import torch.distributed as dist
from options import settings
from torch.nn.parallel import DistributedDataParallel
from torch.utils.tensorboard import SummaryWriter

torch.cuda.set_device(settings.local_rank)
dist.init_process_group("nccl")

if settings.local_rank == 0:
    writer = SummaryWriter("runs")


def train(net, loader):
    net = DistributedDataParallel(net)
    for step, batch in enumerate(loader):
        loss = net(batch).sum()
        loss.backward()
        if settings.local_rank == 0:
            writer.add_scalar("loss", loss.item(), step)
    writer.close()  # expect: DL208


if __name__ == "__main__":
    data = torch.load("data.pt")
    train(torch.nn.Linear(2, 2).cuda(), data)
