"""Goes wrong on 2 ranks: fails with error Missing key.
Fix: unsafe

The state of the wrapped model has keys that the model itself does not know.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
model = DistributedDataParallel(torch.nn.Linear(2, 2))
if dist.get_rank() == 0:
    torch.save(model.state_dict(), "model.pt")  # expect: DL307
dist.barrier()
plain = torch.nn.Linear(2, 2)
plain.load_state_dict(torch.load("model.pt"))
dist.destroy_process_group()
