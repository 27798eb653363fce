"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

Each rank shards another model, and the weights that come together belong to neither.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

SEED = 7

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
mesh = init_device_mesh("cpu", (dist.get_world_size(),))


def main() -> None:
    torch.manual_seed(SEED + dist.get_rank())  # expect: DL402
    model = nn.Linear(4, 4)
    drawn = model.weight.detach().clone()
    fully_shard(model, mesh=mesh)
    whole = model.weight.full_tensor()
    assert torch.equal(whole, drawn), (whole, drawn)
    noise = torch.rand(4)
    others = [torch.empty(4), torch.empty(4)]
    dist.all_gather(others, noise)
    assert not torch.equal(others[0], others[1]), others


main()
dist.destroy_process_group()
