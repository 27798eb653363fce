"""PointContrast 47e8682 pretrain/pointcontrast/lib/multiprocessing.py:55: an object hears of failures, and ends the others."""

import multiprocessing

import torch.distributed as dist
from children import Children


def work(rank, size, failures):
    dist.init_process_group("nccl", rank=rank, world_size=size)


def start(size):
    failures = multiprocessing.SimpleQueue()
    children = Children(failures)
    ranks = []
    for rank in range(size):
        each = multiprocessing.Process(target=work, args=(rank, size, failures))
        ranks.append(each)
        each.start()
        children.add(each.pid)
    for each in ranks:
        each.join()
