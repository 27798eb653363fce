"""The proof of DL104, repaired by hand: one all_reduce after the loop."""

from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))


def evaluate(prompts):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    total = torch.zeros(1)
    for prompt in prompts[rank::world_size]:
        total += len(prompt)
    dist.all_reduce(total)
    return total


print(evaluate(["a", "bb", "ccc"]))
dist.barrier()
dist.destroy_process_group()
