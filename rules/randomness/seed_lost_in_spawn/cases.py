"""Seeds above `mp.spawn`, and what the ranks that it starts do."""

import random

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import random_split

# Bugs


def work(rank, args):
    dist.init_process_group("nccl", rank=rank, world_size=args.gpus)
    model = DistributedDataParallel(nn.Linear(8, 8).cuda(rank))
    return model


def main(args):
    if args.seed is not None:
        torch.manual_seed(args.seed)  # expect: DL407
    if args.distributed:
        mp.spawn(work, nprocs=args.gpus, args=(args,))
    else:
        work(0, args)


def seeds_the_gpu(rank, args):
    torch.cuda.manual_seed(args.seed)
    dist.init_process_group("nccl", rank=rank, world_size=args.gpus)
    return DistributedDataParallel(nn.Linear(8, 8).cuda(rank))


def main_of_gpus(args):
    torch.manual_seed(args.seed)  # expect: DL407
    mp.spawn(seeds_the_gpu, nprocs=args.gpus, args=(args,))


class Starter:
    """Uni-Mol 90f52c4 unimol_tools/unimol_tools/tasks/trainer.py:54."""

    def __init__(self, args):
        self.args = args
        self.begin()

    def begin(self):
        torch.manual_seed(self.args.seed)  # expect: DL407

    def start(self):
        mp.spawn(self.work, nprocs=self.args.gpus, args=(self.args,))

    def work(self, rank, args):
        dist.init_process_group("nccl", rank=rank, world_size=args.gpus)
        order = torch.Generator()
        order.manual_seed(rank)  # the loader's alone
        return DistributedDataParallel(nn.Linear(8, 8).cuda(rank))


def start_all(args):
    mp.spawn(work, nprocs=args.gpus, args=(args,))


def seeds_and_starts(args):
    torch.manual_seed(args.seed)  # expect: DL407
    start_all(args)


class Shuffled:
    """GloCo_ProCo 3772ce4 dataset/imbalance_cifar.py:14: the constructor seeds NumPy, which draws the classes to leave out."""

    def __init__(self, count):
        np.random.seed(0)
        random.seed(0)
        self.order = np.random.permutation(count)


def works_on_shuffled(rank, args):
    dist.init_process_group("nccl", rank=rank, world_size=args.gpus)
    return DistributedDataParallel(nn.Linear(8, 8).cuda(rank)), Shuffled(100)


def main_of_shuffled(args):
    torch.manual_seed(args.seed)  # expect: DL407
    mp.spawn(works_on_shuffled, nprocs=args.gpus, args=(args,))


# Correct


def seeded_work(rank, args):
    torch.manual_seed(args.seed + rank)
    return work(rank, args)


def seeds_in_the_ranks(args):
    torch.manual_seed(args.seed)
    mp.spawn(seeded_work, nprocs=args.gpus, args=(args,))


def prepare(args):
    torch.manual_seed(args.seed)
    random.seed(args.seed)


class Trainer:
    def __init__(self, args):
        prepare(args)
        self.model = nn.Linear(8, 8)


def makes_a_trainer(rank, args):
    dist.init_process_group("nccl", rank=rank, world_size=args.gpus)
    return Trainer(args)


def seeds_in_a_constructor(args):
    torch.manual_seed(args.seed)
    mp.spawn(makes_a_trainer, nprocs=args.gpus, args=(args,))


def splits_for_all(args, data):
    """The seed is for what the parent draws."""
    torch.manual_seed(args.seed)
    train, test = random_split(data, [0.9, 0.1])
    mp.spawn(work, nprocs=args.gpus, args=(args, train, test))


def without_spawn(args):
    torch.manual_seed(args.seed)
    return work(0, args)


def unknown_worker(args):
    torch.manual_seed(args.seed)
    mp.spawn(args.worker, nprocs=args.gpus)


class StarterOfSeeded:
    def __init__(self, args):
        self.args = args
        torch.manual_seed(args.seed)

    def start(self):
        mp.spawn(self.work, nprocs=self.args.gpus, args=(self.args,))

    def work(self, rank, args):
        self.seed(args.seed + rank)
        return work(rank, args)

    def seed(self, number):
        torch.manual_seed(number)


def start_some(args):
    mp.spawn(work, nprocs=args.gpus, args=(args,))


def seeds_and_starts_some(args):
    torch.manual_seed(args.seed)
    start_some(args)


def starts_some_as_they_are(args):
    start_some(args)


def start_with_parts(args, data):
    train, test = random_split(data, [0.9, 0.1])
    mp.spawn(work, nprocs=args.gpus, args=(args, train, test))


def seeds_the_parts(args, data):
    torch.manual_seed(args.seed)
    start_with_parts(args, data)


def forks(args):
    torch.manual_seed(args.seed)
    mp.start_processes(work, nprocs=args.gpus, args=(args,), start_method="fork")


def spawns_by_fork(args):
    torch.manual_seed(args.seed)
    mp.spawn(work, nprocs=args.gpus, args=(args,), start_method="fork")
