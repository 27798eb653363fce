import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train(rank, options):
    dist.init_process_group(
        "nccl", init_method=options["url"], world_size=options["machines"] * options["gpus"], rank=rank
    )
    model = DistributedDataParallel(make())
    first = 0
    if os.path.exists(options["path"]):
        checkpoint = torch.load(options["path"])
        model.load_state_dict(checkpoint["model"])
        first = checkpoint["epoch"]
    for epoch in range(first, 10):
        step(model)
        if dist.get_rank() == 0:
            torch.save({"model": model.state_dict(), "epoch": epoch}, options["path"])
