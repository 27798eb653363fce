import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local-rank", "--local_rank", type=int, required=True)
args = parser.parse_args()
dist.init_process_group("nccl")
