"""Trains on several ranks."""

import argparse

import torch
from torch.nn.parallel import DistributedDataParallel as DDP

import ranks

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int)
    parser.add_argument("--by", default="torch")
    args = parser.parse_args()
    getattr(ranks, f"begin_by_{args.by}")(args.local_rank)
    net = DDP(torch.nn.Linear(8, 1).cuda())
    optimizer = torch.optim.SGD(net.parameters())
    for batch in torch.load("batches.pt"):
        net(batch.cuda()).sum().backward()
        optimizer.step()
