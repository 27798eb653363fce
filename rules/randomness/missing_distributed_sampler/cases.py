"""Loaders of wrapped models, with and without a part for each rank."""

import torch
import torch.distributed as dist
from accelerate import Accelerator
from datasets import load_dataset
from datasets.distributed import split_dataset_by_node
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Subset

# Bugs


def train(model, data, optimizer):
    model = DDP(model)
    loader = DataLoader(data, batch_size=8, shuffle=True)  # expect: DL404
    for _ in range(3):
        for batch in loader:
            model(batch).sum().backward()
            optimizer.step()


def sharded(model, data, optimizer):
    loader = DataLoader(data, batch_size=8)  # expect: DL404
    model = FSDP(model)
    for step, batch in enumerate(loader):
        model(batch).sum().backward()
        optimizer.step()
        print(step)


def asked_for_the_next(model, data, optimizer, steps):
    model = DDP(model)
    batches = iter(DataLoader(data, batch_size=8))  # expect: DL404
    for _ in range(steps):
        model(next(batches)).sum().backward()
        optimizer.step()



def of_a_stream(model, optimizer, tokenize):
    data = load_dataset("c4", split="train", streaming=True)
    data = data.map(tokenize)
    loader = DataLoader(data.with_format("torch"), batch_size=8)  # expect: DL404
    model = DDP(model)
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()


# Correct


def of_a_divided_stream(model, optimizer):
    data = load_dataset("c4", split="train", streaming=True)
    data = split_dataset_by_node(data, dist.get_rank(), dist.get_world_size())
    loader = DataLoader(data, batch_size=8)
    model = DDP(model)
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()


def one_process(model, data):
    loader = DataLoader(data, batch_size=8, shuffle=True)
    for batch in loader:
        model(batch).sum().backward()


def sampled(model, data, sampler):
    model = DDP(model)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    for batch in loader:
        model(batch).sum().backward()


def own_part(model, data):
    model = DDP(model)
    part = Subset(data, range(dist.get_rank(), len(data), dist.get_world_size()))
    loader = DataLoader(part, batch_size=8)
    for batch in loader:
        model(batch).sum().backward()


def streamed(model, make_stream):
    model = DDP(model)
    stream = make_stream()
    loader = DataLoader(stream, batch_size=8)
    for batch in loader:
        model(batch).sum().backward()


def prepared(model, data, optimizer):
    accelerator = Accelerator()
    loader = DataLoader(data, batch_size=8, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch).sum())


def evaluated(model, data):
    model = DDP(model)
    loader = DataLoader(data, batch_size=8)
    with torch.no_grad():
        return [model(batch) for batch in loader]


def asked_for_the_next_of_a_part(model, data, optimizer, steps):
    model = DDP(model)
    data = Subset(data, range(dist.get_rank(), len(data), dist.get_world_size()))
    batches = iter(DataLoader(data, batch_size=8))
    for _ in range(steps):
        model(next(batches)).sum().backward()
        optimizer.step()
