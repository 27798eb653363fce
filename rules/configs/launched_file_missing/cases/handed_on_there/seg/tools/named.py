import sys

import torch.distributed as dist
from mmcv import Config

cfg = Config.fromfile(f"{sys.argv[1]}.py")
dist.init_process_group("nccl")
