import argparse

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--world_size", type=int)
parser.add_argument("--local_rank", type=int)
args = parser.parse_args()
dist.init_process_group(
    "nccl", init_method="tcp://127.0.0.1:2345", world_size=args.world_size, rank=args.local_rank
)
torch.cuda.set_device(args.local_rank)
