"""A script makes its loaders at the top, and its functions read them."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

from sets import net, training_set, validation_set


def run_epoch(epoch):
    sampler.set_epoch(epoch)
    for images, labels in train_loader:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()


def error_over(loader):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for images, labels in loader:
            total += torch.nn.functional.cross_entropy(model(images), labels).item()
    return total / len(loader)


def of_the_share():
    return error_over(val_loader)


def of_all():
    return error_over(whole_loader)


def of_its_own():
    val_loader = DataLoader(validation_set, batch_size=8)
    return error_over(val_loader)


if __name__ == "__main__":
    dist.init_process_group("nccl")
    sampler = DistributedSampler(training_set)
    train_loader = DataLoader(training_set, batch_size=8, sampler=sampler)
    val_loader = DataLoader(validation_set, sampler=DistributedSampler(validation_set))
    whole_loader = DataLoader(validation_set, batch_size=8)
    model = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters())
    best = best_of_all = best_of_own = 1e9
    for epoch in range(10):
        run_epoch(epoch)
        error, over_all, over_own = of_the_share(), of_all(), of_its_own()
        if error < best:  # expect: DL601
            best = error
            torch.save(model.state_dict(), f"best-{dist.get_rank()}.pt")
        if over_all < best_of_all:
            best_of_all = over_all
            torch.save(model.state_dict(), f"best_of_all-{dist.get_rank()}.pt")
        if over_own < best_of_own:
            best_of_own = over_own
            torch.save(model.state_dict(), f"best_of_own-{dist.get_rank()}.pt")
