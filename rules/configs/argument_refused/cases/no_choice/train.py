import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--precision", choices=["4bit", "8bit"])
args = parser.parse_args()  # expect: DL817
dist.init_process_group("nccl")
