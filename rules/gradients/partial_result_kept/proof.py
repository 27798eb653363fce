"""Goes wrong on 2 ranks: wrong result.
Fix: by hand

Four samples are divided between two ranks, and two results are in the file.
"""

import json
from datetime import timedelta
from pathlib import Path

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo", timeout=timedelta(seconds=60))


def evaluate(data):
    loader = DataLoader(data, sampler=DistributedSampler(data, shuffle=False))
    results = [batch.item() for batch in loader]
    if dist.get_rank() == 0:
        with Path("results.json").open("w") as file:
            json.dump(results, file)  # expect: DL611


evaluate([1, 2, 3, 4])
dist.barrier()
with Path("results.json").open() as file:
    written = json.load(file)
assert sorted(written) == [1, 2, 3, 4], written
dist.destroy_process_group()
