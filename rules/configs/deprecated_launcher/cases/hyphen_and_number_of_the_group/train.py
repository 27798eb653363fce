import argparse

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", "--local-rank", type=int, default=0)
args = parser.parse_args()
number = args.local_rank
if torch.cuda.device_count() > 1:
    # ares 306e35f detection/run.py:71
    dist.init_process_group("nccl")
    number = dist.get_rank()
    torch.cuda.set_device(number)
