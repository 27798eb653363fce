import argparse

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--data_path")
parser.add_argument("--version")
parser.add_argument("--out")
args = parser.parse_args()  # expect: DL805
dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
