"""Goes wrong on 2 ranks: wrong result.

The list holds one tensor many times, so all entries are the last rank's.
"""

from datetime import timedelta

import torch
import torch.distributed as dist


def gather(score):
    scores = [torch.zeros(1)] * dist.get_world_size()  # expect: DL108
    dist.all_gather(scores, score)
    return torch.cat(scores).tolist()


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
assert gather(torch.tensor([float(dist.get_rank())])) == [0.0, 1.0], "all scores are the last rank's"
dist.destroy_process_group()
