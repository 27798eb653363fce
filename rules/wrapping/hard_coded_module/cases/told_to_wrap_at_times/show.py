import argparse

import torch.distributed as dist

from loading import Loading


def main(args):
    if args.several:
        dist.init_process_group("nccl")
    net = Loading(2, wrapped=args.several).load()
    print(net.module.weight)  # expect: DL204


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--several", action="store_true")
    main(parser.parse_args())
