"""Visible devices: overwritten with the rank's number, and chosen among those that were given."""

import os
import subprocess

import torch
import torch.distributed as dist
from mpi4py import MPI

# Bugs

GPUS_PER_NODE = 8


def setup():
    os.environ["CUDA_VISIBLE_DEVICES"] = f"{MPI.COMM_WORLD.Get_rank() % GPUS_PER_NODE}"  # expect: DL512
    dist.init_process_group("nccl")


def worker(rank, queue):
    # one GPU each
    os.environ["CUDA_VISIBLE_DEVICES"] = str(rank)  # expect: DL512
    queue.put(torch.zeros(1).cuda())


def by_slurm():
    os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["SLURM_LOCALID"]  # expect: DL512


def by_the_options(args):
    os.environ["CUDA_VISIBLE_DEVICES"] = "%d" % args.local_rank  # expect: DL512


def by_slurm_and_placed_after():
    os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["SLURM_LOCALID"]  # expect: DL512
    torch.cuda.set_device(0)


# Correct


def without_effect():
    # mPLUG-Owl 0f3068f mPLUG-Owl2/mplug_owl2/evaluate/evaluate_mmbench.py:189: CUDA has started (DL502)
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["LOCAL_RANK"]


def by_a_list(rank, devices):
    os.environ["CUDA_VISIBLE_DEVICES"] = str(devices[rank].split(":")[-1])


def by_the_user(args):
    os.environ["CUDA_VISIBLE_DEVICES"] = args.gpus


def none_at_all():
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"


def where_absent(local_rank):
    os.environ.setdefault("HIP_VISIBLE_DEVICES", str(local_rank))


def for_a_child(rank, command):
    environment = dict(os.environ, CUDA_VISIBLE_DEVICES=str(rank))
    subprocess.run(command, env=environment, check=True)


def of_those_given(local_rank):
    given = os.environ["ASCEND_RT_VISIBLE_DEVICES"].split(",")
    os.environ["ASCEND_RT_VISIBLE_DEVICES"] = given[local_rank]
