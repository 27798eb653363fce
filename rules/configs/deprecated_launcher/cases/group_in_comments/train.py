"""Left over: molecular-VAE 9595e1c trainbinding.py:27."""

import argparse

import torch

parser = argparse.ArgumentParser()
# torch.distributed.launch fills it
parser.add_argument("--local_rank", type=int, default=0)
args = parser.parse_args()
torch.cuda.set_device(args.local_rank)
# torch.distributed.init_process_group("nccl")
net = torch.nn.Linear(2, 2).cuda()
print(net(torch.zeros(4, 2).cuda()).mean())
