"""Goes wrong on 2 ranks: hangs.
Fix: unsafe

Rank 1 leaves the epoch in its first turn, in front of the sum that rank 0 waits in.
"""

from datetime import timedelta

import torch
import torch.distributed as dist


def run_epoch(model, batches, history):
    for batch in batches:
        loss = model(batch).mean().detach()
        if dist.get_rank() != 0:
            return
        dist.all_reduce(loss)  # expect: DL101
        if dist.get_rank() == 0:
            history.append(loss.item() / dist.get_world_size())
        model.train()


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
run_epoch(torch.nn.Linear(2, 1), torch.ones(3, 4, 2), [])
dist.barrier()
dist.destroy_process_group()
