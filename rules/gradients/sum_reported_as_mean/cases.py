"""Sums over the ranks."""

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.utils.data import DataLoader, DistributedSampler

# Bugs


def logged(model, data, writer, step):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        loss = model(batch).mean()
        dist.all_reduce(loss)
        writer.add_scalar("loss", loss.item(), step)  # expect: DL612


def over_batches(model, data):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    losses = torch.zeros(())
    for batch in loader:
        losses += model(batch).mean().detach()
    losses /= len(loader)
    dist.reduce(losses, 0, op=dist.ReduceOp.SUM)
    if dist.get_rank() == 0:
        print(f"val loss {losses.item():.3f}")  # expect: DL612


def by_accelerate(model, data, best):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data))
    for batch in loader:
        accuracy = accelerator.reduce(model(batch).mean())
        if accuracy > best:  # expect: DL612
            best = accuracy


def hits_of_all(model, data, labels_of):
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    world = dist.get_world_size()
    total = 0.0
    for batch in loader:
        found, labels = model(batch).argmax(dim=1), labels_of(batch)
        all_found = [torch.zeros_like(found) for _ in range(world)]
        all_labels = [torch.zeros_like(labels) for _ in range(world)]
        dist.all_gather(all_found, found)
        dist.all_gather(all_labels, labels)
        hits = (torch.cat(all_found) == torch.cat(all_labels)).sum()
        total += hits / len(batch) * world  # expect: DL612
    return total / len(loader)


# Correct


def hits_of_all_in_brackets(model, data, labels_of):
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    world = dist.get_world_size()
    total = 0.0
    for batch in loader:
        found, labels = model(batch).argmax(dim=1), labels_of(batch)
        all_found = [torch.zeros_like(found) for _ in range(world)]
        all_labels = [torch.zeros_like(labels) for _ in range(world)]
        dist.all_gather(all_found, found)
        dist.all_gather(all_labels, labels)
        hits = (torch.cat(all_found) == torch.cat(all_labels)).sum()
        total += hits / (len(batch) * world)
    return total / len(loader)


def hits_of_one_for_all(model, data, labels_of):
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    world = dist.get_world_size()
    seen = 0.0
    for batch in loader:
        hits = (model(batch).argmax(dim=1) == labels_of(batch)).sum()
        seen += hits / len(batch) * world
    return seen


def loss_for_mean_gradients(model, data):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    world = dist.get_world_size()
    for batch in loader:
        parts = torch.distributed.nn.all_gather(model(batch))
        loss = torch.cat(parts).mean() / 2 * world
        loss.backward()


def divided(model, data, writer, step):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        loss = model(batch).mean()
        dist.all_reduce(loss)
        loss = loss / dist.get_world_size()
        writer.add_scalar("loss", loss.item(), step)


def a_mean(model, data, writer, step):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        loss = model(batch).mean()
        dist.all_reduce(loss, op=dist.ReduceOp.AVG)
        writer.add_scalar("loss", loss.item(), step)


def a_ratio_of_sums(model, data):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    right, seen = torch.zeros(()), torch.zeros(())
    for inputs, labels in loader:
        right += (model(inputs).argmax(-1) == labels).sum()
        seen += len(labels)
    dist.all_reduce(right)
    dist.all_reduce(seen)
    print(f"accuracy {right / seen}")


def by_the_number_of_samples(model, data):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    right = torch.zeros(())
    for inputs, labels in loader:
        right += (model(inputs).argmax(-1) == labels).sum()
    dist.all_reduce(right)
    print(f"accuracy {right / len(data)}")


def a_number_of_samples(model, data):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    correct = torch.zeros(())
    for inputs, labels in loader:
        correct += (model(inputs).argmax(-1) == labels).sum()
    dist.all_reduce(correct)
    print(f"errors of all: {len(data) - correct}, correct: {correct}")


def the_mean_of_accelerate(model, data, best):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data))
    for batch in loader:
        accuracy = accelerator.reduce(model(batch).mean(), reduction="mean")
        if accuracy > best:
            best = accuracy


def average_in_place(number):
    # NVAE 9fc1a28 utils.py:282.
    ranks = float(dist.get_world_size())
    dist.all_reduce(number.data, op=dist.ReduceOp.SUM)
    number.data /= ranks


def loss_averaged_in_place(model, data, writer):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    losses = torch.stack([model(batch).mean() for batch in loader])
    loss = losses.mean()
    average_in_place(loss)
    writer.add_scalar("val/loss", loss.item(), 0)


def counts_of_all(model, data, storage):
    # PonderV2 aad65d6 ponder/engines/hooks/evaluator.py:62: sums are what an IoU is made of.
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        intersection, union = model(batch)
        dist.all_reduce(intersection)
        dist.all_reduce(union)
        storage.put_scalar("val_intersection", intersection)
        storage.put_scalar("val_union", union)
