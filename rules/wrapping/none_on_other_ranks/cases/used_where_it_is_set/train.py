"""A name that the top of the file sets on rank 0 alone, used on rank 0, or where there is one."""

import torch
import torch.distributed as dist
from options import settings
from torch.nn.parallel import DistributedDataParallel
from torch.utils.tensorboard import SummaryWriter

torch.cuda.set_device(settings.local_rank)
dist.init_process_group("nccl")

if settings.local_rank == 0:
    writer = SummaryWriter("runs")
    notes = SummaryWriter("notes")
    shown = SummaryWriter("shown")

if settings.local_rank == 0:
    record = SummaryWriter("record")
else:
    record = None


def train(net, loader):
    net = DistributedDataParallel(net)
    for step, batch in enumerate(loader):
        loss = net(batch).sum()
        loss.backward()
        if settings.local_rank == 0:
            writer.add_scalar("loss", loss.item(), step)
    if settings.local_rank == 0:
        writer.close()


def show(loader):
    shown = SummaryWriter("own")
    for step, batch in enumerate(loader):
        dist.all_reduce(batch)
        shown.add_scalar("mean", batch.mean(), step)


def note(loader):
    for step, batch in enumerate(loader):
        dist.all_reduce(batch)
        try:
            notes.add_scalar("mean", batch.mean(), step)
        except NameError:
            pass
        if record is not None:
            record.add_scalar("mean", batch.mean(), step)


if __name__ == "__main__":
    data = torch.load("data.pt")
    train(torch.nn.Linear(2, 2).cuda(), data)
    show(data)
    note(data)
