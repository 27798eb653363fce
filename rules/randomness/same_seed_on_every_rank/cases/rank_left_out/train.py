"""The function that seeds would add a rank, and is given none."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from seeds import set_seed


def train(args, net, optimizer, loader):
    # VideoSys 4cce477 examples/training/open_sora/train.py:57
    dist.init_process_group("nccl")
    set_seed(args.seed)  # expect: DL401
    net = DDP(net)
    for images in loader:
        noise = torch.randn_like(images)
        net(images + noise).sub(noise).square().mean().backward()
        optimizer.step()
