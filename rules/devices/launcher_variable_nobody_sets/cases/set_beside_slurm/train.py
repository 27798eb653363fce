import argparse
import os

import torch
import torch.distributed as dist


def start():
    if "SLURM_PROCID" in os.environ:
        os.environ["RANK"] = os.environ["SLURM_PROCID"]
    else:
        # Vision-RWKV 0e0e38a classification_internimage/main.py:597
        os.environ["LOCAL_SIZE"] = str(torch.cuda.device_count())
    dist.init_process_group("nccl")


def share(items):
    size = int(os.environ.get("LOCAL_SIZE", 1))
    return items[:: size]


parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", "--local-rank", type=int)
parser.parse_args()
start()
share([1])
