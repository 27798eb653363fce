import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=1e-4)
parser.add_argument("--layers", type=int, default=2)
args = parser.parse_args()  # expect: DL817
dist.init_process_group("nccl")
