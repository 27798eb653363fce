"""Models in training and evaluation mode, and the ranks that set it."""

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel as DDP

# Bugs


def samples_on_rank_0(model, loader, optimizer, sample):
    model = DDP(model)
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0:
            model.eval()  # expect: DL209
            sample(model.module)


def through_the_model_inside(model, loader, optimizer, sample):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    model.train()
    for step, batch in enumerate(loader):
        loss = model(batch).mean()
        accelerator.backward(loss)
        optimizer.step()
        if accelerator.is_main_process and step % 100 == 0:
            inner = accelerator.unwrap_model(model)
            inner.eval()  # expect: DL209
            with torch.no_grad():
                sample(inner)


# Correct


def goes_back(model, loader, optimizer, sample):
    model = DDP(model)
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0:
            model.eval()
            sample(model.module)
            model.train()


def at_the_start_of_each_round(model, loader, optimizer, sample):
    model = DDP(model)
    for batch in loader:
        model.train()
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0:
            model.eval()
            sample(model.module)


def set_mode(model, training):
    model.train(training)


def in_a_helper(model, loader, optimizer, sample):
    model = DDP(model)
    for batch in loader:
        set_mode(model, True)
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0:
            model.eval()
            sample(model.module)


def on_all_ranks(model, loader, optimizer, sample):
    model = DDP(model)
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        model.eval()
        sample(model.module)


def of_the_average(model, average, loader, optimizer, sample):
    model = DDP(model)
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0:
            average.eval()
            sample(average)


def when_the_training_is_done(model, loader, optimizer, sample):
    model = DDP(model)
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
    if dist.get_rank() == 0:
        model.eval()
        sample(model.module)
