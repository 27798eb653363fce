import argparse

import torch.multiprocessing as mp


def work(rank, args):
    print(rank, args.data_set)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_set", required=True)
    parser.add_argument("--world_size", type=int, default=4)
    args = parser.parse_args()  # expect: DL817
    mp.spawn(work, args=(args,), nprocs=args.world_size)
