import torch
import torch.distributed as dist
from store import PathManager


def by_main(model, path):
    dist.barrier()
    if dist.get_rank() == 0:
        with PathManager.open(path, "wb") as file:
            torch.save(model.state_dict(), file)


def read(path):
    dist.barrier()
    with PathManager.open(path, "rb") as file:
        return torch.load(file)
