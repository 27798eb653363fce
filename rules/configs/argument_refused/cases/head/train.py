"""Trains. unrolled-dit 8caa10c train_ddp.py:9.

Launch with: torchrun --nproc_per_node=4 train.py --data-path ./data
"""

import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=str)
args = parser.parse_args()  # expect: DL817
dist.init_process_group("nccl")
