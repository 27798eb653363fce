import argparse

import torch
from mmcv.runner import init_dist

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
args = parser.parse_args()
init_dist("pytorch", backend="nccl")
torch.cuda.set_device(args.local_rank)
