import torch
import torch.distributed as dist
from tqdm import tqdm

from losses import mlpf_loss


def train_epoch(rank, model, optimizer, loader):
    model.train()
    for X, y in tqdm(loader, disable=rank != 0):
        ypred = model(X.to(rank))
        loss = mlpf_loss(ypred, y.to(rank))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def valid_epoch(rank, world_size, model, loader):
    model.eval()
    total = torch.zeros(1, device=rank)
    for X, y in loader:
        X, y = X.to(rank), y.to(rank)
        if world_size > 1:
            ypred = model(X)
        else:
            ypred = model(X)
        total += mlpf_loss(ypred, y)
    return total / len(loader)


def train_and_valid(rank, world_size, model, optimizer, loaders):
    train_epoch(rank, model, optimizer, loaders["train"])
    if rank == 0:
        loss = valid_epoch(rank, world_size, model, loaders["valid"])
        print(f"valid loss {loss.item():.4f}")
    if world_size > 1:
        dist.barrier()
