import argparse
import os

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local-rank", type=int, default=0)
args = parser.parse_args()
torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", args.local_rank)))
dist.init_process_group("nccl")
