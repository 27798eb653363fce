import argparse

import timm
import torch.distributed as dist

parser = argparse.ArgumentParser("finetunes")
parser.add_argument("--arch", choices=["vit4k_xs", "vit_tiny"] + timm.list_models())
args = parser.parse_args()
dist.init_process_group("nccl")
