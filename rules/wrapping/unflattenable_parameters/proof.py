"""Goes wrong on 2 ranks: fails with error Must flatten tensors with uniform.
Fix: unsafe
Requires: peft

FSDP wants the adapters and the frozen weights in one tensor, and raises.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from peft import LoraConfig, get_peft_model
from torch.distributed.fsdp import FullyShardedDataParallel

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
base = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 2))
model = get_peft_model(base, LoraConfig(r=2, target_modules=["0"]))
model = FullyShardedDataParallel(model, device_id=torch.device("cpu"))  # expect: DL212
model(torch.ones(1, 8)).sum().backward()
dist.destroy_process_group()
