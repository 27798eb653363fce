"""Goes wrong on 2 ranks: wrong result.
Fix: by hand

Rank 1 has more to do: rank 0 counts the files before rank 1 has written its own.
"""

import time
from pathlib import Path

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
folder = Path("parts")
folder.mkdir(exist_ok=True)
dist.barrier()


def main(folder):
    time.sleep(2 * dist.get_rank())
    torch.save(torch.ones(1), folder / f"{dist.get_rank()}.pt")
    return len(list(folder.glob("*.pt")))  # expect: DL311


assert main(folder) == dist.get_world_size()
dist.destroy_process_group()
