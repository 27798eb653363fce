"""Goes wrong on 2 ranks: fails with error AttributeError.

Where `distributed` is off nothing is wrapped, and `.module` is not there.
"""

import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main(distributed):
    net = torch.nn.Linear(2, 1)
    if distributed:
        net = DistributedDataParallel(net)
    net(torch.ones(1, 2)).sum().backward()
    return net.module.state_dict()  # expect: DL204


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
assert "weight" in main("--distributed" in sys.argv)
dist.destroy_process_group()
