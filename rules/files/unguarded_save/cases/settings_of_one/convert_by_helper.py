import torch
import torch.distributed as dist
from groups import set_up

set_up(rank=0, world_size=1)
dist.barrier()
model = torch.nn.Linear(8, 2)
torch.save(model.state_dict(), "output.pt")
