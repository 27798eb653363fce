import argparse

import torch.distributed as dist
from omegaconf import OmegaConf

parser = argparse.ArgumentParser()
parser.add_argument("--model")
parser.add_argument("--tokens")
args = parser.parse_args()
tokens = OmegaConf.load(args.tokens)
model = OmegaConf.load(f"{args.model}.yaml")
dist.init_process_group("nccl")
