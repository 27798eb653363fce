"""Goes wrong on 2 ranks: wrong result.
Fix: by hand

Each rank has a disk of its own, as on two machines: rank 1 finds no checkpoint and begins anew.
"""

import os
from pathlib import Path

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
disk = Path(f"machine{dist.get_rank()}")
disk.mkdir()
os.chdir(disk)


def save(step):
    if dist.get_rank() == 0:
        torch.save({"step": step}, "last.pt")


def resume():
    dist.barrier()
    step = 0
    if Path("last.pt").is_file():  # expect: DL309
        step = torch.load("last.pt")["step"]
    return step


save(7)
steps = [None, None]
dist.all_gather_object(steps, resume())
dist.destroy_process_group()
assert steps[0] == steps[1], f"the ranks go on from steps {steps}"
