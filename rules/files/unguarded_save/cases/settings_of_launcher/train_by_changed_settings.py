# One process is what the settings begin with; the launcher's number goes into them.
import argparse
import os

import torch
import torch.distributed as dist

args = argparse.Namespace(hidden_size=8, world_size=1, rank=0)
if "WORLD_SIZE" in os.environ:
    args.world_size = int(os.environ["WORLD_SIZE"])
    args.rank = int(os.environ["RANK"])

dist.init_process_group("nccl", world_size=args.world_size, rank=args.rank)
model = torch.nn.Linear(args.hidden_size, args.hidden_size)
torch.save(model.state_dict(), "output.pt")  # expect: DL301
