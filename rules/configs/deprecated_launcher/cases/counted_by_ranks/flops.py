import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)  # expect: DL805
parser.add_argument("--world_size", type=int, default=1)
parser.add_argument("--dist", type=bool, default=True)
args = parser.parse_args()
net = torch.nn.Linear(2, 2)
if args.dist:
    dist.init_process_group("nccl")
if args.local_rank == 0:
    print(sum(each.numel() for each in net.parameters()))
