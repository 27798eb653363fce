import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--folder")
parser.add_argument("--sizes", type=int, nargs="+")
parser.add_argument("--out")
args = parser.parse_args()
dist.init_process_group("nccl")
