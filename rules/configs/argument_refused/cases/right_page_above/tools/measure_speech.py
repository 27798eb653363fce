import argparse

import torch.distributed as dist


def main():
    parser = argparse.ArgumentParser(description="Speech, a part on each rank")
    parser.add_argument("--dataset", default="")
    parser.add_argument("--batch-size", type=int, default=1)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    return args


main()
