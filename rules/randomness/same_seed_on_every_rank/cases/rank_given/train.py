"""The function that seeds is given the rank."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from seeds import set_seed


def train(args, net, optimizer, loader):
    # VideoSys 4cce477 examples/training/open_sora/train.py:57
    dist.init_process_group("nccl")
    set_seed(args.seed, dist.get_rank())
    net = DDP(net)
    for images in loader:
        noise = torch.randn_like(images)
        net(images + noise).sub(noise).square().mean().backward()
        optimizer.step()
