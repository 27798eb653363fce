"""The one that is started: the file of this name in the folder above is another."""

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
model = torch.nn.Linear(2, 2)
if dist.get_rank() == 0:
    torch.save(model.state_dict(), "model.pt")
