"""Goes wrong on 2 ranks: fails with error RuntimeError.
Fix: by hand

Each rank has a disk of its own, as on two machines: rank 1 has no folder to write into.
"""

import os
from pathlib import Path

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
disk = Path(f"machine{dist.get_rank()}")
disk.mkdir()
os.chdir(disk)


def main(folder):
    if dist.get_rank() == 0:
        Path(folder).mkdir(exist_ok=True)  # expect: DL310
    dist.barrier()
    torch.save(torch.ones(1), f"{folder}/{dist.get_rank()}.pt")


main("samples")
dist.destroy_process_group()
