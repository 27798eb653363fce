# Of two settings, one says how many ranks there are.
import argparse
import os
import sys

import torch
import torch.distributed as dist

if sys.argv[1] == "base":
    args = argparse.Namespace(hidden_size=768, world_size=1, rank=0)
else:
    world = int(os.environ["WORLD_SIZE"])
    args = argparse.Namespace(hidden_size=1024, world_size=world, rank=int(os.environ["RANK"]))

dist.init_process_group("nccl", world_size=args.world_size, rank=args.rank)
model = torch.nn.Linear(args.hidden_size, args.hidden_size)
torch.save(model.state_dict(), "output.pt")  # expect: DL301
