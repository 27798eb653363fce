import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--gpus", type=int, default=1)
args = parser.parse_known_args()
dist.init_process_group("nccl")
