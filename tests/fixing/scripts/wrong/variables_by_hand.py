"""Goes wrong on 2 ranks: wrong result.

The script says itself that it is alone: nothing is summed.
"""

import os
from datetime import timedelta

import torch
import torch.distributed as dist


def start():
    os.environ["RANK"] = "0"  # expect: DL510
    os.environ["WORLD_SIZE"] = "1"
    if int(os.environ["WORLD_SIZE"]) == 1:
        os.environ["MASTER_PORT"] = "0"
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))


os.environ["TORCHELASTIC_USE_AGENT_STORE"] = "False"
port = os.environ["MASTER_PORT"]
if int(os.environ["LOCAL_WORLD_SIZE"]) > 1:
    start()
one = torch.ones(1)
dist.all_reduce(one)
assert one.item() == 2, f"{one.item()} ranks were summed"
dist.destroy_process_group()
