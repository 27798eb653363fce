import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=1e-4)
parser.add_argument("--resume")
parser.add_argument("--out")
parser.add_argument("--quiet", action="store_true")
parser.add_argument("--layers", type=int, nargs="?", const=4, default=2)
args = parser.parse_args()
dist.init_process_group("nccl")
