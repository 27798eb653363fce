"""Goes wrong on 2 ranks: wrong result.

Two machines with one GPU each, as their launchers describe them: the second has no `cuda:1`.
"""

import os
from datetime import timedelta

import torch
import torch.distributed as dist

os.environ["LOCAL_RANK"] = "0"
os.environ["LOCAL_WORLD_SIZE"] = "1"

dist.init_process_group("gloo", timeout=timedelta(seconds=60))


def main() -> torch.device:
    return torch.device("cuda", dist.get_rank())  # expect: DL504


chosen: list[torch.device | None] = [None, None]
dist.all_gather_object(chosen, main())
assert all(d is not None and d.index < int(os.environ["LOCAL_WORLD_SIZE"]) for d in chosen), chosen
dist.destroy_process_group()
