"""Totals over rounds and ranks."""

import torch
import torch.distributed as dist

# Bugs


def in_each_round(model, loader):
    total = torch.zeros(())
    for batch in loader:
        total += model(batch).sum()
        # expect: DL620
    dist.all_reduce(total)
    return total


def written_out(model, loader, log):
    total, count = torch.zeros(()), 0
    for batch in loader:
        total = total + model(batch).sum()
        count += len(batch)
        dist.all_reduce(total, op=dist.ReduceOp.SUM)  # expect: DL620
        log(total / count)
    return total


# Correct


def behind_the_loop(model, loader):
    total = torch.zeros(())
    for batch in loader:
        total += model(batch).sum()
    dist.all_reduce(total)
    return total


def of_each_round(model, loader):
    total = 0.0
    for batch in loader:
        part = model(batch).sum()
        dist.all_reduce(part)
        total += part.item()
    return total


def begun_anew(model, loader, log):
    total = torch.zeros(())
    for batch in loader:
        total += model(batch).sum()
        dist.all_reduce(total)
        log(total)
        total = torch.zeros(())


def set_to_zero(model, loader, log):
    total = torch.zeros(())
    for batch in loader:
        total += model(batch).sum()
        dist.all_reduce(total)
        log(total)
        total.zero_()


def the_largest(model, loader):
    total = torch.zeros(())
    for batch in loader:
        total += model(batch).max()
        dist.all_reduce(total, op=dist.ReduceOp.MAX)
    return total


def a_copy(model, loader, log):
    total = torch.zeros(())
    for batch in loader:
        total += model(batch).sum()
        whole = total.clone()
        dist.all_reduce(whole)
        log(whole)


def in_the_last_round(model, loader):
    total = torch.zeros(())
    for step, batch in enumerate(loader):
        total += model(batch).sum()
        if step == len(loader) - 1:
            dist.all_reduce(total)
    return total
