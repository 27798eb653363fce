"""Ranks that are asked for before and after the group exists."""

import torch.distributed as dist
from detectron2.data import build_detection_train_loader
from detectron2.utils import comm
from accelerate import Accelerator
from mmcv.runner import get_dist_info, init_dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler
from transformers import Trainer, TrainingArguments


def get_rank():
    if not dist.is_available() or not dist.is_initialized():
        return 0
    return dist.get_rank()


# Bugs

RANK = dist.get_rank() if dist.is_initialized() else 0  # expect: DL509
MAIN = get_rank() == 0  # expect: DL509


def log(text, rank=get_rank()):  # expect: DL509
    print(rank, text)


def main():
    # who am I
    rank = dist.get_rank() if dist.is_available() and dist.is_initialized() else 0  # expect: DL509
    dist.init_process_group("gloo")
    if rank == 0:
        print("main")


def detection(config):
    # Cream 4a13c40 CDARTS/CDARTS_segmentation/train/train_cydas.py:196
    batches = iter(build_detection_train_loader(config))  # expect: DL509
    shown = comm.is_main_process()  # expect: DL509
    dist.init_process_group("nccl", init_method="env://")
    return batches, shown


def several_run():
    return dist.is_available() and dist.is_initialized()


def loader_of(data):
    # honeybee 68a8d84 tasks/build.py:52
    sampler = DistributedSampler(data, shuffle=False) if several_run() else None  # expect: DL509
    return DataLoader(data, sampler=sampler)


def evaluated_by_a_trainer(net, data, settings):
    held_out = loader_of(data)
    barrier_of_all()
    trainer = Trainer(net, args=TrainingArguments(**settings))
    trainer.train()
    return held_out


def barrier_of_all():
    if several_run():
        dist.barrier()


class Gathers(nn.Module):
    # musiclm-pytorch 4a78b41 musiclm_pytorch/distributed.py:73
    def __init__(self):
        super().__init__()
        self.on_several = dist.is_initialized() and dist.get_world_size() > 1  # expect: DL509

    def forward(self, x):
        return sum_of_all(x) if self.on_several else x


class Matches(nn.Module):
    def __init__(self):
        super().__init__()
        self.gathers = Gathers()


class TrainsWhatItGets:
    def __init__(self, net: Matches):
        self.accelerator = Accelerator()
        self.net = self.accelerator.prepare(net)


class Logger:
    rank = get_rank()  # expect: DL509


def rate_before_the_group(settings, options):
    settings.devices = range(1) if options.devices is None else range(options.devices)
    if options.scaled:
        settings.rate = settings.rate * len(settings.devices) / 8  # expect: DL509
    if options.launcher != "none":
        init_dist(options.launcher)
        _, ranks = get_dist_info()
        settings.devices = range(ranks)
    return settings


# Correct


def detection_after(config):
    dist.init_process_group("nccl", init_method="env://")
    return build_detection_train_loader(config), comm.get_rank()


def launched_by_detectron2(config):
    return build_detection_train_loader(config), comm.get_rank()


def after():
    dist.init_process_group("gloo")
    rank = dist.get_rank() if dist.is_initialized() else 0
    return rank


def sum_of_all(x):
    dist.all_reduce(x)
    return x


class AsksEachTime(nn.Module):
    def forward(self, x):
        return sum_of_all(x) if dist.is_initialized() else x


class TrainsWhatAsks:
    def __init__(self, net: AsksEachTime):
        self.accelerator = Accelerator()
        self.net = self.accelerator.prepare(net)


class KeepsWhatItIsTold(nn.Module):
    def __init__(self):
        super().__init__()
        self.on_several = dist.is_initialized()

    def forward(self, x):
        return sum_of_all(x) if self.on_several else x


class PreparesWhatItGets:
    """EasyNLP a4ee956 examples/BeautifulPrompt/beautiful_prompt/trainer.py:73: accelerate divides the loader."""

    def __init__(self, net, train_loader):
        self.accelerator = Accelerator()
        self.train_loader = train_loader
        self.net, self.train_loader = self.accelerator.prepare(net, self.train_loader)


class PreparesTheNetAlone:
    def __init__(self, net, train_loader):
        self.accelerator = Accelerator()
        self.train_loader = train_loader
        self.net = self.accelerator.prepare(net)


def handed_to_what_prepares_it(net, data):
    sampler = DistributedSampler(data) if several_run() else None
    loader = DataLoader(data, sampler=sampler)
    return PreparesWhatItGets(net, loader)


def handed_to_what_prepares_the_net(net, data):
    sampler = DistributedSampler(data) if several_run() else None  # expect: DL509
    loader = DataLoader(data, sampler=sampler)
    return PreparesTheNetAlone(net, loader)


def built_when_the_group_is_there():
    dist.init_process_group("gloo")
    return KeepsWhatItIsTold()


def divided_loader(data):
    sampler = DistributedSampler(data) if several_run() else None
    return DataLoader(data, sampler=sampler)


def divided_when_the_group_is_there(data):
    dist.init_process_group("gloo")
    return divided_loader(data)


def divided_by_accelerate(data):
    sampler = DistributedSampler(data) if several_run() else None
    loader = DataLoader(data, sampler=sampler)
    return Accelerator().prepare(loader)


def when_called():
    return get_rank() == 0


later = lambda: get_rank()  # noqa: E731


def known():
    return dist.get_rank()


def rate_behind_the_group(settings, options):
    settings.devices = range(1)
    if options.launcher != "none":
        init_dist(options.launcher)
        _, ranks = get_dist_info()
        settings.devices = range(ranks)
    settings.rate = settings.rate * len(settings.devices) / 8
    return settings


def batch_of_listed_devices(settings, options):
    settings.devices = range(options.devices)
    settings.batch = settings.batch * len(settings.devices)
    init_dist(options.launcher)
    _, ranks = get_dist_info()
    settings.parts = range(ranks)
    return settings


def size_of(matrix, rank=0):
    return matrix.size(rank)


class AsksAgain:
    # VISTA f73d7c2 vista2d/scripts/workflow.py:101: what was asked first is replaced on each way
    def __init__(self, settings):
        self.on_several = dist.is_available() and dist.is_initialized()
        if settings.launched:
            dist.init_process_group("nccl")
            self.on_several = dist.is_available() and dist.is_initialized()
        else:
            self.on_several = False

    def total(self, values):
        return sum_of_all(values) if self.on_several else values


class AsksAgainAtTimes:
    def __init__(self, settings):
        self.on_several = dist.is_available() and dist.is_initialized()  # expect: DL509
        if settings.launched:
            dist.init_process_group("nccl")
        else:
            self.on_several = False

    def total(self, values):
        return sum_of_all(values) if self.on_several else values


if __name__ == "__main__":
    main()
    print(get_rank())
