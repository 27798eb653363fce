import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=4)
args = parser.parse_args()
dist.init_process_group("nccl")
