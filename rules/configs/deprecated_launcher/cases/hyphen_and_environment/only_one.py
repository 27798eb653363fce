import argparse

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local-rank", type=int, default=0)
args = parser.parse_args()
number = args.local_rank
torch.cuda.set_device(number)
dist.init_process_group("nccl")
