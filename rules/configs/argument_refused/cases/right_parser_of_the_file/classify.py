import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser(description="classifies")
parser.add_argument("--batch_size", type=int, default=1)


def with_steps():
    parser.add_argument("--num_steps", type=int)


def main():
    with_steps()
    args = parser.parse_args()
    dist.init_process_group("nccl")
    print(args.batch_size)


if __name__ == "__main__":
    main()
