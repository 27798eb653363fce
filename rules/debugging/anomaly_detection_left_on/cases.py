"""Anomaly detection for good, and for a while."""

import torch
import torch.distributed as dist


def for_good(model):
    dist.init_process_group("nccl")
    torch.autograd.set_detect_anomaly(True)  # expect: DL702
    return model


def around_each_step(model, batch):
    with torch.autograd.detect_anomaly():  # expect: DL702
        loss = model(batch)
        loss.backward()
    dist.all_reduce(loss)


def behind_a_switch(model, args):
    dist.init_process_group("nccl")
    torch.autograd.set_detect_anomaly(args.debug)
    return model


def for_a_while(model, batch, args):
    if args.find_nan:
        torch.autograd.set_detect_anomaly(True)
    loss = model(batch)
    dist.all_reduce(loss)


def switched_off(model):
    dist.init_process_group("nccl")
    torch.autograd.set_detect_anomaly(False)
    return model
