# SwissArmyTransformer 63dc23a examples/cait/transform_param.py:124: the breakpoint stops the only process.
import argparse

import torch
import torch.distributed as dist

args = argparse.Namespace(hidden_size=8, world_size=1, rank=0)
dist.init_process_group("gloo", world_size=args.world_size, rank=args.rank)
model = torch.nn.Linear(args.hidden_size, args.hidden_size)
dist.barrier()
breakpoint()
