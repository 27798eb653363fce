"""Trains.

Launch with: torchrun --nproc_per_node=4 train.py --data ./data
Its sister:  torchrun --nproc_per_node=4 finetune.py --data-path ./data
"""

import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=str)
args = parser.parse_args()
dist.init_process_group("nccl")
