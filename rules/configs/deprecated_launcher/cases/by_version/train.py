import argparse
import os

import torch
import torch.distributed as dist

MAJOR_VERSION = int(torch.__version__.split(".")[0])

parser = argparse.ArgumentParser()
if MAJOR_VERSION == 1:
    parser.add_argument("--local_rank", type=int, required=True)
args, rest = parser.parse_known_args()
dist.init_process_group("nccl")
local_rank = args.local_rank if MAJOR_VERSION == 1 else int(os.environ["LOCAL_RANK"])
