import argparse

import torch.distributed as dist
from probe import main
from start import start

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--world_size", default=1, type=int)
    parser.add_argument("--probe", action="store_true")
    args = parser.parse_args()
    if args.probe:
        main(args)
    else:
        start(args)
    dist.barrier()
