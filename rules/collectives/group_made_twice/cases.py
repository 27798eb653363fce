"""Process groups that are made where there is one."""

import os

import deepspeed
import torch
import torch.distributed as dist
from accelerate import Accelerator
from ray.train.torch import TorchTrainer


# Bugs


def set_up(args):
    if "RANK" not in os.environ:
        args.distributed = False
        return
    args.rank = int(os.environ["RANK"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")  # expect: DL113


def once_more_in_the_setup(args):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank() % 8)
    set_up(args)


def behind_the_accelerator(losses):
    accelerator = Accelerator()
    dist.init_process_group("nccl")  # expect: DL113
    return accelerator.reduce(losses)


def behind_deepspeed(args, losses):
    if args.local_rank >= 0:
        deepspeed.init_distributed()
        torch.cuda.set_device(args.local_rank)
        dist.init_process_group("nccl")  # expect: DL113
    dist.all_reduce(losses)


# Look-alikes


def set_up_of_its_own(args):
    if "RANK" not in os.environ:
        args.distributed = False
        return
    dist.init_process_group("nccl")


def only_in_the_setup(args):
    set_up_of_its_own(args)
    return Accelerator()


def of_the_launcher(args):
    if args.launcher == "slurm":
        dist.init_process_group("nccl", init_method="tcp://node0:29500")
    if args.launcher == "torchrun":
        dist.init_process_group("nccl")
    dist.barrier()


def asked_first(losses):
    accelerator = Accelerator()
    if not dist.is_initialized():
        dist.init_process_group("nccl")
    return accelerator.reduce(losses)


def taken_where_it_is(losses):
    dist.init_process_group("nccl")
    deepspeed.init_distributed()
    dist.all_reduce(losses)


def made_again(rounds):
    for each in rounds:
        dist.init_process_group("nccl")
        each()
        dist.destroy_process_group()


def one_after_the_other(first, second):
    dist.init_process_group("nccl")
    first()
    dist.destroy_process_group()
    dist.init_process_group("gloo")
    second()


def returned(args, losses):
    if args.cpu:
        dist.init_process_group("gloo")
        return losses
    dist.init_process_group("nccl")
    return losses


def tried_first(losses):
    try:
        dist.init_process_group("nccl")
    except RuntimeError:
        dist.init_process_group("gloo")
    dist.all_reduce(losses)


def worker(rank, losses):
    dist.init_process_group("nccl", rank=rank, world_size=2)
    dist.all_reduce(losses)


def two_spawns(losses):
    torch.multiprocessing.spawn(worker, (losses,), nprocs=2)
    torch.multiprocessing.spawn(worker, (losses,), nprocs=2)


def runs_on_each_worker(config):
    # ranking-reward-alignment 106d50f coral/distributed/utils/helpers.py:9
    dist.init_process_group("nccl")  # expect: DL113
    return config


def asks_on_each_worker(config):
    if not dist.is_initialized():
        dist.init_process_group("nccl")
    return config


def sets_up_each_worker(config):
    if os.environ.get("WORLD_SIZE"):
        return config
    dist.init_process_group("nccl")
    return config


def runs_beside_the_workers(config):
    dist.init_process_group("nccl")
    return config


def trains_on_workers(config, scaling):
    TorchTrainer(train_loop_per_worker=runs_on_each_worker, scaling_config=scaling).fit()
    TorchTrainer(asks_on_each_worker, scaling_config=scaling).fit()
    TorchTrainer(sets_up_each_worker, train_loop_config=runs_beside_the_workers).fit()
