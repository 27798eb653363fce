"""All ranks sum before some return."""

import torch.distributed as dist


def report(loss):
    dist.all_reduce(loss)
    if dist.get_rank() != 0:
        return None
    return loss.item()
