"""Cases of DL307: states of wrapped models in files."""

import deepspeed
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from distlint.runtime import save, unwrap


# --- bugs -----------------------------------------------------------------------------------------


def ddp_keys(net, path, epoch):
    model = DistributedDataParallel(net)
    if dist.get_rank() == 0:
        # Everything.
        torch.save({"model": unwrap(model).state_dict(), "epoch": epoch}, path)  # expect: DL307
    dist.barrier()


def compiled_keys(net, path):
    dist.barrier()
    model = torch.compile(net)
    torch.save(unwrap(model).state_dict(), path)  # expect: DL307


def own_part(net, path):
    model = fully_shard(net)
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)  # expect: DL307


def keys_in_a_dict(net, path, epoch):
    model = DistributedDataParallel(net)
    state = {"model": model.module.state_dict(), "epoch": epoch}  # expect: DL307
    if dist.get_rank() == 0:
        torch.save(state, path)


def keys_whatever_the_other_holds(net, teacher, gpus, path):
    model = DistributedDataParallel(net)
    other = teacher.module if gpus > 1 else teacher
    torch.save({"model": model.module.state_dict() if gpus > 1 else other.state_dict()}, path)  # expect: DL307


# --- right ----------------------------------------------------------------------------------------


def inner(net, path):
    model = DistributedDataParallel(net)
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), path)


def unwrapped(net, path):
    model = DistributedDataParallel(net)
    if dist.get_rank() == 0:
        torch.save(unwrap(model).state_dict(), path)


def gathered(net, path):
    model = fully_shard(net)
    save(model, path)


def plain(net, path):
    if dist.get_rank() == 0:
        torch.save(net.state_dict(), path)


def not_saved(net):
    model = DistributedDataParallel(net)
    return len(model.state_dict())


def under_either_engine(net, option, path):
    if option == "ddp":
        net = DistributedDataParallel(net)
    if option == "deepspeed":
        net, _, _, _ = deepspeed.initialize(model=net)
    if option == "ddp":
        torch.save(net.module.state_dict(), path)


def dict_of_the_inner(net, path, epoch):
    model = DistributedDataParallel(net)
    state = {"model": model.module.state_dict(), "epoch": epoch}
    if dist.get_rank() == 0:
        torch.save(state, path)


def with_a_wrapper_or_without(net, gpus, path):
    # Comprehensive-Transformer-TTS train.py:193
    if gpus > 1:
        net = DistributedDataParallel(net)
    torch.save({"model": net.module.state_dict() if gpus > 1 else net.state_dict()}, path)


def with_a_wrapper_or_without_in_blocks(net, gpus, path):
    if gpus > 1:
        net = DistributedDataParallel(net)
    if gpus > 1:
        torch.save(net.module.state_dict(), path)
    else:
        torch.save(net.state_dict(), path)


def of_a_variable(net, path):
    # phenaki-pytorch 9415d4e phenaki_pytorch/cvivit_trainer.py:333
    model = DistributedDataParallel(net)
    state = model.module.state_dict()  # expect: DL307
    if dist.get_rank() == 0:
        torch.save(state, path)


def of_a_variable_that_nobody_saves(net):
    model = DistributedDataParallel(net)
    state = model.state_dict()
    return len(state)
