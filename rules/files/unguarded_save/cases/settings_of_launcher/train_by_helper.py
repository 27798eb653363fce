import os

import torch
import torch.distributed as dist
from groups import set_up

set_up(rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
dist.barrier()
model = torch.nn.Linear(8, 2)
torch.save(model.state_dict(), "output.pt")  # expect: DL301
