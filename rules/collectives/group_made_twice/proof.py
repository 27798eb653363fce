"""Goes wrong on 2 ranks: fails with error trying to initialize the default process group twice.
Fix: by hand
Requires: accelerate

accelerate has made the group from the launcher's variables.
"""

import torch
import torch.distributed as dist
from accelerate import Accelerator

accelerator = Accelerator(cpu=True)
dist.init_process_group("gloo")  # expect: DL113
total = accelerator.reduce(torch.ones(1))
assert total.item() == 2
accelerator.end_training()
