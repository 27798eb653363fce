"""Trains on all GPUs of all machines, whose numbers `torchrun` gives in the environment."""

import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", default=0, type=int, help="not used")

if __name__ == "__main__":
    parser.parse_args()
    dist.init_process_group("nccl", init_method="env://")
