import argparse

import torch.distributed as dist
import torch.multiprocessing as mp
from data_half import Windows


def main():
    args = argparse.Namespace(root="data", test_list="test.json", train_list="train.json", ranks=2)
    test = Windows(args.root, args=args, held_out=True)
    print(len(test.windows))
    mp.spawn(work, nprocs=args.ranks, args=(args.ranks, args))


def work(index, ranks, args):
    dist.init_process_group("nccl", rank=index, world_size=ranks)
    train = Windows(args.root, args=args, held_out=False)
    test = Windows(args.root, args=args, held_out=True)
    return train, test


if __name__ == "__main__":
    main()
