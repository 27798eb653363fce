import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("data", nargs="*")
parser.add_argument("--learning_rate", "--lr", type=float, default=1e-4)
parser.add_argument("--layers", type=int, nargs="+")
parser.add_argument("--precision", choices=["4bit", "8bit"])
group = parser.add_argument_group("output")
group.add_argument("--out-dir")
group.add_argument("--quiet", action="store_true")
args = parser.parse_args()
dist.init_process_group("nccl")
