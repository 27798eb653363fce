"""Goes wrong on 2 ranks: wrong result.

The scheduler gave each rank one GPU; after the deletion torch counts all of them on both.
"""

import os
from datetime import timedelta

import torch
import torch.distributed as dist

os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["LOCAL_RANK"]


def visible_devices() -> list[int]:
    # What torch counts devices by; it asks no driver, so that this holds on a CPU too.
    return list(torch.cuda._parse_visible_devices())


def prepare() -> None:
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        del os.environ["CUDA_VISIBLE_DEVICES"]  # expect: DL501


prepare()
dist.init_process_group("gloo", timeout=timedelta(seconds=60))
seen: list[list[int]] = [[], []]
dist.all_gather_object(seen, visible_devices())
assert seen == [[0], [1]], seen
dist.destroy_process_group()
