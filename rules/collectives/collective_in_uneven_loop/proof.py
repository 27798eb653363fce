"""Goes wrong on 2 ranks: hangs.
Fix: by hand

Three prompts: rank 0 has a second turn, in which it waits for rank 1.
"""

from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))


def evaluate(prompts):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    total = torch.zeros(1)
    for prompt in prompts[rank::world_size]:
        length = torch.tensor([float(len(prompt))])
        dist.all_reduce(length)  # expect: DL104
        total += length
    return total


print(evaluate(["a", "bb", "ccc"]))
dist.barrier()
dist.destroy_process_group()
