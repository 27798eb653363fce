import argparse
import os

import torch.distributed as dist

parser = argparse.ArgumentParser()
args = parser.parse_args()
dist.init_process_group("nccl")
local_rank = int(os.environ["LOCAL_RANK"])
