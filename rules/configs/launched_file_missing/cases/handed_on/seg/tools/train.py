import argparse

import torch.distributed as dist
from mmcv import Config

parser = argparse.ArgumentParser()
parser.add_argument("config")
args = parser.parse_args()
cfg = Config.fromfile(args.config)
dist.init_process_group("nccl")
