import argparse

import torch
from corpus import read

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=-1)
parser.add_argument("--device", default="cuda")
args = parser.parse_args()
if args.local_rank in (-1, 0):
    print(vars(args))
net = torch.nn.Linear(2, 2).to(args.device)
print(net(read()).mean())
