"""A script makes its loaders at the top; the function that decides reads the one that is whole, or a variable of its own."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

from sets import net, training_set, validation_set


def run_epoch(epoch):
    sampler.set_epoch(epoch)
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()


def error():
    loader = DataLoader(validation_set, batch_size=8)
    model.eval()
    total = 0.0
    with torch.no_grad():
        for images, labels in loader:
            total += torch.nn.functional.cross_entropy(model(images), labels).item()
    return total / len(loader)


def error_of_all():
    model.eval()
    total = 0.0
    with torch.no_grad():
        for images, labels in val_loader:
            total += torch.nn.functional.cross_entropy(model(images), labels).item()
    return total / len(val_loader)


if __name__ == "__main__":
    dist.init_process_group("nccl")
    sampler = DistributedSampler(training_set)
    loader = DataLoader(training_set, batch_size=8, sampler=sampler)
    val_loader = DataLoader(validation_set, batch_size=8)
    model = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters())
    best = best_of_all = 1e9
    for epoch in range(10):
        run_epoch(epoch)
        if (now := error()) < best:
            best = now
            torch.save(model.state_dict(), f"best-{dist.get_rank()}.pt")
        if (of_all := error_of_all()) < best_of_all:
            best_of_all = of_all
            torch.save(model.state_dict(), f"of-all-{dist.get_rank()}.pt")
