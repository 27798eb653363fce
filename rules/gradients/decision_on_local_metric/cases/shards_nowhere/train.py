import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, SequentialSampler


def get_loader(data, distributed=False):
    if distributed:
        sampler = DistributedSampler(data)
    else:
        sampler = SequentialSampler(data)
    return DataLoader(data, sampler=sampler)


def get_unshuffled(data, sharded: bool = False):
    # MeZO 552cb1b medium_models/src/kernel_trainer.py:152
    if sharded and dist.get_world_size() > 1:
        return DataLoader(data, sampler=DistributedSampler(data))
    return DataLoader(data)


def accuracy(model, loader):
    right = total = 0
    for x, y in loader:
        right += (model(x) == y).sum().item()
        total += len(y)
    return right / total


def validate(model, data, best):
    # CLIP-ViL (NVlabs/DoRA 7e2f10a) src/tasks/gqa.py:78
    score = accuracy(model, get_loader(data, distributed=False))
    if score > best:
        best = score
        torch.save(model.state_dict(), "best.pt")
    return best


def validate_unshuffled(model, data, best):
    score = accuracy(model, get_unshuffled(data))
    if score > best:
        best = score
        torch.save(model.state_dict(), "best.pt")
    return best


def validate_shares(model, data, best, args):
    score = accuracy(model, get_loader(data, distributed=False))
    if score > best:
        best = score
        torch.save(model.state_dict(), "best.pt")
    return best


def main(model, data, args):
    dist.init_process_group("nccl")
    validate(model, data, 0)
    validate_unshuffled(model, data, 0)
    validate_shares(model, data, 0, args)
