"""The proof of DL102, repaired by hand: one order on all ranks."""

from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))


def share(config):
    dist.broadcast(config, 1)
    dist.barrier()


config = torch.full((4,), float(dist.get_rank()))
share(config)
assert config.eq(1).all(), f"rank {dist.get_rank()} has {config}"
dist.destroy_process_group()
