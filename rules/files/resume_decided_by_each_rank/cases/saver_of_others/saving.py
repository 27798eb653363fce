import torch
import torch.distributed as dist


def save_on_first(state, path):
    # WeakTr 3457ad3 utils.py:232: nobody calls it
    if dist.get_rank() == 0:
        torch.save(state, path)


def ranks():
    return dist.get_world_size()
