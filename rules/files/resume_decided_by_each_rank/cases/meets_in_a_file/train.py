import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--meeting")
parser.add_argument("--resume")
args = parser.parse_args()
# MIL-NCE_HowTo100M b282b15 main_distributed.py:46
args.dist_url = "file://{}".format(os.path.realpath(args.meeting))
rank = int(os.environ["SLURM_PROCID"])
dist.init_process_group("nccl", init_method=args.dist_url, rank=rank, world_size=int(os.environ["SLURM_NPROCS"]))
model = torch.nn.Linear(8, 8)
model = DistributedDataParallel(model)
first = 0
if os.path.isfile(args.resume):
    checkpoint = torch.load(args.resume)
    model.load_state_dict(checkpoint["model"])
    first = checkpoint["epoch"]
for epoch in range(first, 10):
    if dist.get_rank() == 0:
        torch.save({"model": model.state_dict(), "epoch": epoch}, args.resume)
