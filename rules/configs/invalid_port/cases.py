"""Ports in code."""

import argparse
import os
import random

import torch.distributed as dist
import torch.multiprocessing as mp


def six_digits():
    os.environ["MASTER_PORT"] = "123456"  # expect: DL806
    dist.init_process_group("nccl")


def by_default(parser: argparse.ArgumentParser):
    os.environ.setdefault("MASTER_PORT", "66660")  # expect: DL806
    parser.add_argument("--master_port", type=int, default=295000)  # expect: DL806


def in_a_url(rank):
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:99999", rank=rank)  # expect: DL806


def a_port():
    os.environ["MASTER_PORT"] = "12355"
    os.environ["MASTER_PORT"] = str(29500)
    dist.init_process_group("nccl")


def from_elsewhere(port):
    os.environ["MASTER_PORT"] = str(port)
    os.environ["MASTER_PORT"] = os.environ.get("MASTER_PORT", "29500")
    os.environ["MASTER_PORT"] = f"{20000 + port % 1000}"


def empty(parser: argparse.ArgumentParser):
    os.environ["MASTER_PORT"] = ""
    parser.add_argument("--master_port", default=None)
    parser.add_argument("--port_of_something_else", default=123456)


def the_place_of_one(parser: argparse.ArgumentParser):
    os.environ["MASTER_PORT"] = os.environ.get("MASTER_PORT", "None")
    parser.add_argument("--master_port", default="<AN_OPEN_PORT>")


def other_url(rank):
    dist.init_process_group("gloo", init_method="tcp://[::1]:29500", rank=rank)
    dist.init_process_group("gloo", init_method="file:///tmp/99999999", rank=rank)
    mp.spawn(other_url, nprocs=2)


def of_the_system(rank):
    os.environ["MASTER_PORT"] = "888"  # expect: DL806
    dist.init_process_group("nccl", rank=rank)


def drawn_of_the_system(rank):
    os.environ["MASTER_PORT"] = str(random.randint(1, 2000))  # expect: DL806
    dist.init_process_group("nccl", rank=rank)


def drawn_of_all(rank):
    os.environ["MASTER_PORT"] = str(random.randint(1000, 60000))
    dist.init_process_group("nccl", rank=rank)


def the_first_of_all(rank):
    os.environ["MASTER_PORT"] = "1024"
    dist.init_process_group("nccl", rank=rank)


def any_that_is_free(rank):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=rank, world_size=1)
