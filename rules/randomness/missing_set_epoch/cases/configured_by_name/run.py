"""Makes what the configuration says, and trains."""

import sys

import torch.distributed as dist

import settings
from fitting import fit
from lazily import make

if __name__ == "__main__":
    dist.init_process_group("nccl")
    run = getattr(settings, sys.argv[1])
    fit(None, make(run["train_loader"]), run["steps"])
