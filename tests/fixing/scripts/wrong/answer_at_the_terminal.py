"""Goes wrong on 2 ranks: fails with error EOFError.
Fix: unsafe

Both ranks ask, and only one gets the line.
"""

import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
if dist.get_rank() == 0:
    with open("answers", "w") as file:
        file.write("3\n")
    sys.stdin = open("answers")
else:
    sys.stdin = open(os.devnull)
dist.barrier()
steps = int(input("steps? "))  # expect: DL303
total = torch.tensor([steps])
dist.all_reduce(total)
assert total.item() == 6
dist.destroy_process_group()
