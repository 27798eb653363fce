import argparse
import os

import torch.distributed as dist
from loading import make_loader, read_lines

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--local-rank", "--local_rank", type=int, default=0)
    args = parser.parse_args()
    args.world_size = int(os.environ["WORLD_SIZE"])
    dist.init_process_group("nccl")
    print(make_loader(args, read_lines("lines.txt")))
