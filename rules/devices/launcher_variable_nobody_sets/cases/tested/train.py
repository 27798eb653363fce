import os

import torch.distributed as dist

dist.init_process_group("nccl")
if "NODE_RANK" in os.environ:
    print("machine", os.environ["NODE_RANK"])
machine = int(os.environ["GROUP_RANK"]) if "NNODES" not in os.environ else int(os.environ["NNODES"])
try:
    per_machine = int(os.environ["LOCAL_SIZE"])
except KeyError:
    per_machine = int(os.environ["LOCAL_WORLD_SIZE"])
