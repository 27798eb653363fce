import argparse

import torch.distributed as dist

from more import add_steps

parser = argparse.ArgumentParser(description="segments")
parser.add_argument("--batch_size", type=int, default=1)


def main():
    add_steps(parser)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    print(args.batch_size)


if __name__ == "__main__":
    main()
