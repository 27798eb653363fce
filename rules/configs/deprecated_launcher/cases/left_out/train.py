import argparse
import os

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--config")
# RepVGG eae7c52 main.py:63
parser.add_argument("--local_rank", type=int, default=0)  # expect: DL805
args, unknown = parser.parse_known_args()
torch.cuda.set_device(args.local_rank)
dist.init_process_group("nccl", rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
