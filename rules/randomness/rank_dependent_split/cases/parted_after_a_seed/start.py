"""What starts the ranks, and leaves the rest to others."""

import sys

import torch.multiprocessing as mp

from .work import work as each_rank

if __name__ == "__main__":
    mp.spawn(each_rank, nprocs=8, args=(sys.argv[1], None))
