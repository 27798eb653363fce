import os

import torch
import torch.distributed as dist
from parts.memory import gpu

# Self-Forcing 33593df inference.py:20
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = make_model().to(gpu)
