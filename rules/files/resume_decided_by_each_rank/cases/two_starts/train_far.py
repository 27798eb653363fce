import os

import torch.distributed as dist
from engine import work

if __name__ == "__main__":
    config = read()
    config.backend = "nccl" if dist.is_nccl_available() else "gloo"
    config.url = "env://"
    work(int(os.environ["RANK"]), config)
