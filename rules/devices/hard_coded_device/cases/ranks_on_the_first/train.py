"""Trains on the ranks of torchrun, which all take one GPU."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def main(net, batches):
    torch.cuda.set_device(0)  # expect: DL503
    dist.init_process_group("nccl")
    net = DDP(net.cuda(), device_ids=[0])  # expect: DL503
    optimizer = torch.optim.SGD(net.parameters())
    for batch in batches:
        net(batch).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    main(torch.nn.Linear(8, 1), torch.load("batches.pt"))
