import argparse
import os

import torch.distributed as dist
from library.settings import Settings

parser = argparse.ArgumentParser()
for name, each in Settings.__dataclass_fields__.items():
    parser.add_argument(each.metadata.get("alias", f"--{name}"))
args = parser.parse_args()
dist.init_process_group("nccl")
local_rank = int(os.environ["LOCAL_RANK"])
