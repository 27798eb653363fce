"""The parser goes to a class of a folder that only the environment puts on the path: it may add what is passed."""

import argparse

import torch.distributed as dist
from engines.engine import Engine

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
with Engine(custom_parser=parser):
    args = parser.parse_args()
    dist.barrier()
