import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("data")
parser.add_argument("--rate", type=float, default=1e-4)
args = parser.parse_args()
dist.init_process_group("nccl")
