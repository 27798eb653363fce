"""Caches that are emptied, and how often."""

import torch
from torch.nn.parallel import DistributedDataParallel as DDP

# Bugs


def in_each_step(model, loader, optimizer):
    model = DDP(model)
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()
        torch.cuda.empty_cache()  # expect: DL608


# Correct


def now_and_then(model, loader, optimizer):
    model = DDP(model)
    for step, batch in enumerate(loader):
        model(batch).sum().backward()
        optimizer.step()
        if step % 500 == 0:
            torch.cuda.empty_cache()


def after_an_epoch(model, loader, optimizer):
    model = DDP(model)
    for _ in range(3):
        for batch in loader:
            model(batch).sum().backward()
            optimizer.step()
    torch.cuda.empty_cache()


def at_the_end_of_each_epoch(model, loader, optimizer):
    model = DDP(model)
    for _ in range(3):
        for batch in loader:
            model(batch).sum().backward()
            optimizer.step()
        torch.cuda.empty_cache()


def when_memory_ran_out(model, loader, optimizer):
    model = DDP(model)
    for batch in loader:
        try:
            model(batch).sum().backward()
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            raise
        optimizer.step()
