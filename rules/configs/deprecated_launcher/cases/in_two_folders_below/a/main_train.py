import argparse

import torch.distributed as dist

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--launcher", choices=["none", "pytorch"])
    args = parser.parse_args()
    if args.launcher != "none":
        dist.init_process_group("nccl")
