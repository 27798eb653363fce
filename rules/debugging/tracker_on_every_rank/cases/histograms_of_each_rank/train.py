"""Histograms of each rank in one folder."""

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.tensorboard import SummaryWriter


def train(net, loader, folder):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    net = DDP(net)
    board = SummaryWriter(folder)
    for step, batch in enumerate(loader):
        loss = net(batch).mean()
        loss.backward()
        board.add_histogram(f"losses of {dist.get_rank()}", loss, step)
        print(f"rank {rank}: {loss}", flush=True)
