import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))

from parts.memory import gpu  # noqa: E402

model = make_model().to(gpu)
