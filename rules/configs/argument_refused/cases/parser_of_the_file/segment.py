import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser(description="segments")
parser.add_argument("--batch_size", type=int, default=1)
parser.add_argument("--max_epochs", type=int, default=10)


def main():
    args = parser.parse_args()  # expect: DL817
    dist.init_process_group("nccl")
    print(args.batch_size, args.max_epochs)


if __name__ == "__main__":
    main()
