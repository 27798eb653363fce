import argparse
import os

import torch
import torch.distributed as dist

args = argparse.Namespace(world_size=int(os.environ["WORLD_SIZE"]), rank=int(os.environ["RANK"]))
dist.init_process_group("gloo", world_size=args.world_size, rank=args.rank)
model = torch.nn.Linear(8, 8)
dist.barrier()
breakpoint()  # expect: DL701
