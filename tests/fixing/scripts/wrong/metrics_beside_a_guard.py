"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

The log is guarded and the file is not: each rank writes its own metrics over the other's.
"""

import json
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
rank = dist.get_rank()
total = torch.ones(1)
dist.all_reduce(total)
metrics = {"rank": rank, "total": total.item()}
if rank == 0:
    print("total", metrics["total"])
time.sleep(0.5 * rank)
with open("metrics.json", "w") as file:  # expect: DL301
    json.dump(metrics, file)
dist.barrier()
kept = json.loads(Path("metrics.json").read_text())
assert kept["rank"] == 0, "the metrics are not those of rank 0"
dist.destroy_process_group()
