import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--size")
args = parser.parse_args()
dist.init_process_group("nccl")
