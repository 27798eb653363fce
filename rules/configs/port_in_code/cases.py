"""Where the port comes from at which the ranks meet."""

import os
import random

import numpy as np
import torch.distributed as dist
import torch.multiprocessing as mp

# Bugs


def written(train, gpus):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "12355"  # expect: DL811
    mp.spawn(train, nprocs=gpus)


def by_default(rank, world_size, port=40111):
    os.environ["MASTER_PORT"] = str(port)  # expect: DL811
    dist.init_process_group("nccl", rank=rank, world_size=world_size)


def drawn(train, gpus):
    os.environ["MASTER_PORT"] = str(random.randint(15000, 30000))  # expect: DL811
    mp.spawn(train, nprocs=gpus)


def drawn_first(train, gpus):
    main_port = random.randrange(20000, 30000)  # expect: DL811
    mp.spawn(train, args=(main_port,), nprocs=gpus)


def of_an_address(rank, world_size, host):
    address = "tcp://" + host + ":" + str(np.random.randint(15000, 15025))  # expect: DL811
    dist.init_process_group("nccl", init_method=address, rank=rank, world_size=world_size)


# Look-alikes


def if_it_is_missing(train, gpus):
    os.environ.setdefault("MASTER_PORT", "12355")
    mp.spawn(train, nprocs=gpus)


def asked_first(train, gpus):
    if "MASTER_PORT" not in os.environ:
        os.environ["MASTER_PORT"] = "12355"
    mp.spawn(train, nprocs=gpus)


def read_first(train, gpus):
    port = os.environ.get("MASTER_PORT", "12355")
    os.environ["MASTER_PORT"] = str(port)
    mp.spawn(train, nprocs=gpus)


def chosen_by_the_system(train, gpus):
    os.environ["MASTER_PORT"] = "0"
    mp.spawn(train, nprocs=gpus)


def from_an_option(train, args):
    os.environ["MASTER_PORT"] = str(args.port)
    mp.spawn(train, nprocs=args.gpus)


def handed_over(rank, world_size, port):
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)


def of_something_else(rank, world_size):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    portion = 0.5
    seed = random.randint(0, 10)
    return portion, seed
