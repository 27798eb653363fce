import argparse

import torch.distributed as dist


def main():
    parser = argparse.ArgumentParser(description="Pictures, a part on each rank")
    parser.add_argument("--max_size", type=int, default=64)
    parser.add_argument("--model-path", default="model")
    args = parser.parse_args()  # expect: DL817
    dist.init_process_group("nccl")
    return args


main()
