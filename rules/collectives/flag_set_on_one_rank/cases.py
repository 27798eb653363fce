"""Flags that one rank sets, and conditions that all ranks come to."""

import torch
import torch.distributed as dist
from accelerate import Accelerator

# Bugs


def leaves_the_loop(model, loader, judge):
    stop = False
    for epoch in range(10):
        for batch in loader:
            dist.all_reduce(model(batch))
        if dist.get_rank() == 0:
            if judge(epoch) > 3:
                stop = True
        dist.barrier()
        if stop:  # expect: DL111
            break


def returns(model, judge):
    accelerator = Accelerator()
    failed = None
    if accelerator.is_main_process:
        failed = judge(model)
    if failed:  # expect: DL111
        return None
    accelerator.wait_for_everyone()
    return model


class Trainer:
    def fit(self, loader, judge):
        for batch in loader:
            dist.all_reduce(batch)
            if dist.get_rank() == 0:
                self.stop = judge(batch)
            if self.stop:  # expect: DL111
                break


# Correct


def told_to_all(model, loader, judge):
    stop = False
    for epoch in range(10):
        dist.all_reduce(model(loader))
        if dist.get_rank() == 0:
            stop = judge(epoch)
        told = [stop]
        dist.broadcast_object_list(told)
        stop = told[0]
        if stop:
            break


def as_a_tensor(model, loader, judge):
    stop = torch.zeros(1)
    for epoch in range(10):
        dist.all_reduce(model(loader))
        if dist.get_rank() == 0:
            stop = torch.tensor([float(judge(epoch))])
        dist.broadcast(stop, 0)
        if stop:
            break


def asked_on_rank_0(model, loader, judge, save):
    best = False
    for epoch in range(10):
        dist.all_reduce(model(loader))
        if dist.get_rank() == 0:
            best = judge(epoch)
        if dist.get_rank() == 0 and best:
            save(model)


def without_a_collective_behind(model, judge, log):
    dist.barrier()
    path = None
    if dist.get_rank() == 0:
        path = judge(model)
    if path:
        log(path)
    return path


def set_on_all_ranks(model, loader, judge):
    stop = False
    for epoch in range(10):
        dist.all_reduce(model(loader))
        stop = judge(epoch)
        if stop:
            break


def on_both_arms(model, loader, judge):
    stop = False
    for epoch in range(10):
        dist.all_reduce(model(loader))
        if dist.get_rank() == 0:
            stop = judge(epoch)
        else:
            stop = judge(epoch)
        if stop:
            break
