import argparse

import torch.distributed as dist
from toolkit import add_options

parser = argparse.ArgumentParser()
add_options(parser)
args = parser.parse_args()
dist.init_process_group("nccl")
