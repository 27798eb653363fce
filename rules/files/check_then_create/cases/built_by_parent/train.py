# PDPP e9fd98a train_mlp.py:137: the parent of the ranks builds both data sets, and so makes their files
import argparse
import os

import torch.distributed as dist
import torch.multiprocessing as mp
from data import Windows


def main():
    args = argparse.Namespace(root="data", test_list="test.json", train_list="train.json", ranks=2)
    if not os.path.exists(args.test_list):
        train = Windows(args.root, args=args, held_out=False)
        test = Windows(args.root, args=args, held_out=True)
        print(len(train.windows), len(test.windows))
    mp.spawn(work, nprocs=args.ranks, args=(args.ranks, args))


def work(index, ranks, args):
    dist.init_process_group("nccl", rank=index, world_size=ranks)
    train = Windows(args.root, args=args, held_out=False)
    test = Windows(args.root, args=args, held_out=True)
    return train, test


if __name__ == "__main__":
    main()
