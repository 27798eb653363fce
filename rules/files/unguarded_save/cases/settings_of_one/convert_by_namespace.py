# SwissArmyTransformer 63dc23a examples/bert/transform_param.py:135, examples/yolos/inference_yolos.py:114.
import argparse
import sys

import torch
import torch.distributed as dist

if sys.argv[1] == "base":
    args = argparse.Namespace(hidden_size=768, world_size=1, rank=0)
else:
    args = argparse.Namespace(hidden_size=1024, world_size=1, rank=0)

dist.init_process_group("nccl", world_size=args.world_size, rank=args.rank)
model = torch.nn.Linear(args.hidden_size, args.hidden_size)
torch.save(model.state_dict(), "output.pt")
