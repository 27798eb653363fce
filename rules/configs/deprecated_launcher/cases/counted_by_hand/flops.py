import argparse

import torch
from torch.distributed import (
    all_reduce,
    barrier,
)

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
parser.add_argument("--world_size", type=int, default=1)
parser.add_argument("--dist", type=bool, default=True)
args = parser.parse_args()
net = torch.nn.Linear(2, 2)
if args.local_rank == 0:
    print(sum(each.numel() for each in net.parameters()))
