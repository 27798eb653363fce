import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=4)
args = parser.parse_args()  # expect: DL817
dist.init_process_group("nccl")
