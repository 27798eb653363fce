import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", required=int)  # expect: DL805
args = parser.parse_args()
dist.init_process_group("nccl")
