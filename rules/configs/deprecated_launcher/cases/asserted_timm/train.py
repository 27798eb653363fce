import argparse

import timm
import torch
import torch.distributed as dist

assert timm.__version__ == "0.3.2"
parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)  # expect: DL805
args = parser.parse_args()
torch.cuda.set_device(args.local_rank)
dist.init_process_group("nccl")
