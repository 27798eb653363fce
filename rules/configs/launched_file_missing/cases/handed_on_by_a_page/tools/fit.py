import sys

import torch.distributed as dist
from mmcv import Config

cfg = Config.fromfile(sys.argv[1])
dist.init_process_group("nccl")
