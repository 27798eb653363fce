"""Launcher variables: overwritten, and set where nobody has."""

import os

import torch.distributed as dist

# Bugs

os.environ["RANK"] = "0"  # expect: DL510
# one process
os.environ["WORLD_SIZE"] = "1"


def setup():
    os.environ["MASTER_ADDR"] = "localhost"  # expect: DL510
    os.environ["MASTER_PORT"] = "29500"
    dist.init_process_group("gloo")


def rank_of_a_group_elsewhere(model):
    # the group is made by whoever calls this, of as many ranks as there are
    os.environ["RANK"] = "0"  # expect: DL510
    os.environ["WORLD_SIZE"] = "1"
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "29500"
    return model


def first_of_two():
    os.environ["RANK"] = "0"  # expect: DL510
    os.environ["WORLD_SIZE"] = "2"
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "29500"
    dist.init_process_group("gloo")


# Correct


def a_group_of_one():
    # terratorch 85467a9 examples/notebooks/WxCTutorialGravityWave.ipynb.
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "12355"
    dist.init_process_group(backend="gloo", init_method="env://", rank=0, world_size=1)


def a_group_of_one_by_its_variables():
    # benchmark 0e83c44 torchbenchmark/canary_models/torchrec_dlrm/__init__.py:46
    os.environ["RANK"] = "0"
    os.environ["WORLD_SIZE"] = "1"
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "29500"
    if not dist.is_initialized():
        dist.init_process_group(backend="gloo")


def where_absent():
    os.environ.setdefault("LOCAL_RANK", "0")
    if "MASTER_ADDR" not in os.environ:
        os.environ["MASTER_ADDR"] = "localhost"


def leaves_first():
    if "LOCAL_RANK" in os.environ:
        return
    os.environ["LOCAL_RANK"] = "0"


def worker(rank, world_size):
    os.environ["MASTER_PORT"] = "29501"
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


def from_slurm():
    os.environ["LOCAL_WORLD_SIZE"] = os.environ["SLURM_NTASKS_PER_NODE"]


def alone():
    os.environ["LOCAL_WORLD_SIZE"] = "1"


def another_variable():
    os.environ["OMP_NUM_THREADS"] = "1"
