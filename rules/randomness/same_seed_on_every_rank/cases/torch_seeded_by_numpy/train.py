"""numpy has another stream on each rank, and gives torch its seed."""

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def train(args, net, optimizer, loader):
    # NVlabs' edm 008a4e5 training/training_loop.py:47
    dist.init_process_group("nccl")
    np.random.seed((args.seed * dist.get_world_size() + dist.get_rank()) % (1 << 31))
    torch.manual_seed(np.random.randint(1 << 31))
    net = DDP(net)
    for images in loader:
        noise = torch.randn_like(images)
        net(images + noise).sub(noise).square().mean().backward()
        optimizer.step()
