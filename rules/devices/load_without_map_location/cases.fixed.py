"""Checkpoints that all ranks load, and other loads."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

# Bugs


def resume(model, optimizer, path):
    dist.barrier()
    checkpoint = torch.load(path, map_location="cpu")  # expect: DL505
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])


def nested(model, path):
    dist.barrier()
    model.load_state_dict(torch.load(path, weights_only=True, map_location="cpu"))  # expect: DL505
    return DDP(model)


def by_name(checkpoint_path):
    dist.barrier()
    return torch.load(  # expect: DL505
        checkpoint_path,  # the newest
        weights_only=True,
        map_location="cpu",
    )


def kept(args):
    dist.barrier()
    state = torch.load(args.resume, map_location="cpu")  # expect: DL505
    return state["model"], state["step"]


# Correct


def on_the_cpu(model, path):
    dist.barrier()
    model.load_state_dict(torch.load(path, map_location="cpu"))


def by_position(model, path, device):
    dist.barrier()
    model.load_state_dict(torch.load(path, device))


def main_only(model, path):
    dist.barrier()
    if dist.get_rank() == 0:
        model.load_state_dict(torch.load(path))


def one_process(model, path):
    model.load_state_dict(torch.load(path))


def data(cache_file):
    dist.barrier()
    return torch.load(cache_file)


def as_told(path, **kwargs):
    dist.barrier()
    return torch.load(path, **kwargs)


def write_features(model, folder):
    if dist.get_rank() == 0:
        torch.save(model.features().cpu(), f"{folder}/" + "model_features.pth")


def read_features(folder):
    dist.barrier()
    return torch.load(folder + "/model_features.pth")  # saved from the CPU
