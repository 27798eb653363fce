import argparse

import torch
from torch.nn.parallel import DistributedDataParallel

from starting import join


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", default=-1, type=int)  # expect: DL805
    args = parser.parse_args()
    join(args)
    args.local_rank = torch.cuda.current_device()
    model = torch.nn.Linear(8, 8).to(args.local_rank)
    return DistributedDataParallel(model, device_ids=[args.local_rank])


if __name__ == "__main__":
    main()
