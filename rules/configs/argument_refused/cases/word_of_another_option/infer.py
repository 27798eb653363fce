import argparse

import torch.distributed as dist


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int)
    parser.add_argument("--size", type=int)
    args = parser.parse_args()  # expect: DL817
    dist.init_process_group("nccl")
    return args


if __name__ == "__main__":
    main()
