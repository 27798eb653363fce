"""Goes wrong on 2 ranks: wrong result.

The rank goes into the settings before there is a group: both processes are rank 0.
"""

from datetime import timedelta

import torch
import torch.distributed as dist


def main(settings):
    settings["main"] = (dist.get_rank() if dist.is_initialized() else 0) == 0  # expect: DL509
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    votes = torch.tensor([float(settings["main"])])
    dist.all_reduce(votes)
    return votes.item()


votes = main({})
assert votes == 1, f"{votes} processes are main"
dist.destroy_process_group()
