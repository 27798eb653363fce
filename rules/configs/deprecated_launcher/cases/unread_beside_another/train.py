import argparse

import torch
import torch.distributed as dist

from test import valid

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=0)  # expect: DL805
    args = parser.parse_args()
    torch.cuda.set_device(args.local_rank)
    dist.init_process_group("nccl")
    valid(torch.nn.Linear(2, 2), [])
