import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--folder")
parser.add_argument("--rate", type=float, default=1e-4)
args = parser.parse_args()  # expect: DL817
dist.init_process_group("nccl")
