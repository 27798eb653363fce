"""Starts processes of its own."""

import torch
import torch.multiprocessing as mp
from training import Loop


def work(index):
    Loop(torch.nn.Linear(8, 1)).run(torch.rand(10, 4, 8))


if __name__ == "__main__":
    mp.spawn(work, nprocs=4)
