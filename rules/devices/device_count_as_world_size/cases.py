"""Counts of devices: as a sign of model parallelism, as a world size, and as what they are."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DistributedSampler
from transformers import Trainer

# Bugs


def marked(model, args, data):
    if torch.cuda.device_count() > 1:  # expect: DL508
        # keeps Trainer from trying its own DataParallel
        model.is_parallelizable = True
        model.model_parallel = True
    trainer = Trainer(model=model, args=args, train_dataset=data)
    return trainer if args.process_index == 0 else None


def both(model):
    dist.barrier()
    if torch.cuda.device_count() > 1 or model.large:  # expect: DL508
        model = nn.DataParallel(model)
    return model


def neighbour(own):
    dist.barrier()
    if torch.cuda.device_count() > 1:  # expect: DL508
        return (own + 1) % torch.cuda.device_count()
    return own


def group():
    dist.init_process_group("nccl", world_size=torch.cuda.device_count())  # expect: DL508


def parts(data, local_rank):
    # gmflow b512343 main.py:341
    return DistributedSampler(
        data,
        num_replicas=torch.cuda.device_count(),  # expect: DL508
        rank=local_rank,
    )


# Correct


def parts_of_all(data):
    return DistributedSampler(data, num_replicas=dist.get_world_size(), rank=dist.get_rank())


def asked(model, ddp):
    dist.barrier()
    if not ddp and torch.cuda.device_count() > 1:
        model.is_parallelizable = True
        model.model_parallel = True
    return model


def otherwise(model, args):
    if args.distributed:
        dist.barrier()
        return DDP(model)
    if torch.cuda.device_count() > 1 and not args.distributed:
        return nn.DataParallel(model)
    return model


def counted():
    dist.barrier()
    if torch.cuda.device_count() > 1:
        print(torch.cuda.device_count(), "devices")


def from_the_launcher():
    dist.init_process_group("nccl")


def without_a_launcher(args, model, device):
    unnumbered = device.type != "cpu" and args.rank == -1
    if unnumbered and torch.cuda.device_count() > 1:
        model = torch.nn.DataParallel(model)
    return model


def spread_by_an_option_of_its_own(args, model, data_parallel):
    # TAP 352891f pythia/trainers/base_trainer.py:123: whoever asks for it starts one process
    if torch.cuda.device_count() > 1 and data_parallel is True:
        model = torch.nn.DataParallel(model)
    return model


class Divides:
    def set_up(self):
        count = torch.cuda.device_count()
        dist.init_process_group("nccl")
        self.devices = count
        self.parts = dist.get_world_size()

    def loaders(self, data):
        rank = dist.get_rank()
        DistributedSampler(data, num_replicas=self.parts, rank=rank)
        return DistributedSampler(data, num_replicas=self.devices, rank=rank)  # expect: DL508
