"""Goes wrong on 2 ranks: wrong result.

Both processes take themselves for the only rank, and nothing is summed.
"""

import os
from datetime import timedelta

import torch
import torch.distributed as dist

os.environ["RANK"] = "0"  # expect: DL510
os.environ["WORLD_SIZE"] = "1"
os.environ["TORCHELASTIC_USE_AGENT_STORE"] = "False"
launched = int(os.environ["LOCAL_WORLD_SIZE"])
if int(os.environ["WORLD_SIZE"]) < launched:
    # Each would start a store on the launcher's port; the second must not fail for that alone.
    os.environ["MASTER_PORT"] = "0"
dist.init_process_group("gloo", timeout=timedelta(seconds=60))
one = torch.ones(1)
dist.all_reduce(one)
assert one.item() == launched, one
dist.destroy_process_group()
