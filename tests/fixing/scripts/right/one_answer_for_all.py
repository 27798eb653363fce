"""The ranks agree before they leave the loop."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train(net, batches):
    net = DistributedDataParallel(net)
    for batch in batches:
        loss = net(batch).mean()
        bad = torch.isnan(loss).float()
        dist.all_reduce(bad)
        if bad.item() > 0:
            break
        dist.all_reduce(loss)
