"""Losses of all ranks, and losses that go backward."""

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.utils.data import DataLoader, DistributedSampler

# Bugs


def gathered(model, optimizer, data):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(data))
    for batch in loader:
        loss = accelerator.gather(model(batch).loss).mean()
        accelerator.backward(loss)  # expect: DL619
        optimizer.step()


def averaged_in_place(model, optimizer, data):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        loss = model(batch).mean()
        dist.all_reduce(loss)
        loss = loss / dist.get_world_size()
        loss.backward()  # expect: DL619
        optimizer.step()


# Correct


def for_the_log(model, optimizer, data):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(data))
    for batch in loader:
        loss = model(batch).loss
        average = accelerator.gather(loss.detach()).mean()
        accelerator.backward(loss)
        accelerator.log({"loss": average})
        optimizer.step()


def after_it_went_backward(model, optimizer, data, log):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        dist.all_reduce(loss)
        loss = loss / dist.get_world_size()
        log(loss)


def added_up_only(model, optimizer, data):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        loss = model(batch).mean()
        dist.all_reduce(loss)
        loss.backward()
        optimizer.step()


def reduced_copy(loss):
    loss = loss.detach().clone()
    dist.all_reduce(loss)
    return loss / dist.get_world_size()


def a_copy(model, optimizer, data, log):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        loss = model(batch).mean()
        log(reduced_copy(loss))
        loss.backward()
        optimizer.step()


def weights_by_a_number_of_all(model, optimizer, data):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        tokens = batch["mask"].sum()
        dist.all_reduce(tokens)
        loss = model(batch).sum() * dist.get_world_size() / tokens
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
