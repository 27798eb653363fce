"""Goes wrong on 2 ranks: fails with error FileNotFoundError.

Rank 1 reads the file at once, while rank 0 is still preparing what it will write.
"""

import json
import time
from datetime import timedelta

import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
dist.barrier()
if dist.get_rank() == 0:
    time.sleep(0.8)
    with open("stats.json", "w") as file:
        json.dump({"mean": 0.5}, file)
with open("stats.json") as file:  # expect: DL302
    assert json.load(file) == {"mean": 0.5}
dist.barrier()
dist.destroy_process_group()
