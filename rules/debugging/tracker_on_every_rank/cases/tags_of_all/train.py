"""One name for the curves of all ranks."""

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.tensorboard import SummaryWriter


def train(net, loader, folder):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    net = DDP(net)
    board = SummaryWriter(folder)  # expect: DL704
    for step, batch in enumerate(loader):
        loss = net(batch).mean()
        loss.backward()
        board.add_scalar(f"train/{net.name}", loss.item(), step)
        print(f"rank {rank}: {loss}", flush=True)
