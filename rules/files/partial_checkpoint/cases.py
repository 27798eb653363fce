"""Cases of DL307: states of wrapped models in files."""

import deepspeed
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import ShardingStrategy, StateDictType, fully_shard
from torch.nn.parallel import DistributedDataParallel

from distlint.runtime import save, unwrap


# --- bugs -----------------------------------------------------------------------------------------


def ddp_keys(net, path, epoch):
    model = DistributedDataParallel(net)
    if dist.get_rank() == 0:
        # Everything.
        torch.save({"model": model.state_dict(), "epoch": epoch}, path)  # expect: DL307
    dist.barrier()


def compiled_keys(net, path):
    dist.barrier()
    model = torch.compile(net)
    torch.save(model.state_dict(), path)  # expect: DL307


def own_part(net, path):
    model = fully_shard(net)
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)  # expect: DL307


def keys_in_a_dict(net, path, epoch):
    model = DistributedDataParallel(net)
    state = {"model": model.state_dict(), "epoch": epoch}  # expect: DL307
    if dist.get_rank() == 0:
        torch.save(state, path)


def keys_whatever_the_other_holds(net, teacher, gpus, path):
    model = DistributedDataParallel(net)
    other = teacher.module if gpus > 1 else teacher
    torch.save({"model": model.state_dict() if gpus > 1 else other.state_dict()}, path)  # expect: DL307


def state_of_own_shards(net, path, config):
    # pytorch_transformer b7626b7 train_fsdp.py:217
    model = FSDP(net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, config):
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}  # expect: DL307
    if dist.get_rank() == 0:
        torch.save(state, path)


class KeepsTheOptimizer:
    def __init__(self, net):
        self.model = FSDP(net)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def keep(self, folder):
        if dist.get_rank() == 0:
            write_optimizer(self.optimizer, folder)


def write_optimizer(optimizer, folder):
    torch.save(optimizer.state_dict(), f"{folder}/optimizer.pt")  # expect: DL307


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
    state = model.state_dict()  # expect: DL307
    if dist.get_rank() == 0:
        torch.save(state, path)


def of_a_variable_that_nobody_saves(net):
    model = DistributedDataParallel(net)
    state = model.state_dict()
    return len(state)


def gathered_of_all_shards(net, path, config):
    model = FSDP(net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    state = {"optimizer": FSDP.optim_state_dict(model, optimizer)}
    if dist.get_rank() == 0:
        torch.save(state, path)


def each_its_own_shards(net, folder):
    model = FSDP(net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    torch.save(optimizer.state_dict(), f"{folder}/optimizer{dist.get_rank()}.pt")


def of_what_is_not_divided(net, path):
    model = FSDP(net, sharding_strategy=ShardingStrategy.NO_SHARD)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    if dist.get_rank() == 0:
        torch.save({"optimizer": optimizer.state_dict()}, path)


def of_parameters_of_ddp(net, path):
    model = DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    if dist.get_rank() == 0:
        torch.save({"optimizer": optimizer.state_dict()}, path)


def with_and_without_shards(net, path, sharded):
    model = FSDP(net) if sharded else DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    state = FSDP.optim_state_dict(model, optimizer) if sharded else optimizer.state_dict()
    if dist.get_rank() == 0:
        torch.save({"optimizer": state}, path)


def schedule_of_all(net, path):
    model = FSDP(net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    if dist.get_rank() == 0:
        torch.save({"schedule": schedule.state_dict()}, path)
