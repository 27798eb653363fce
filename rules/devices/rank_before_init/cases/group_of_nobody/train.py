"""Trains on several ranks."""

import torch
from torch.nn.parallel import DistributedDataParallel as DDP

from ranks import begin, number  # expect: DL509


def main(net, batches):
    rank = number()
    net = DDP(net)
    optimizer = torch.optim.SGD(net.parameters())
    for batch in batches:
        loss = net(batch).sum()
        loss.backward()
        optimizer.step()
        if rank == 0:
            print(loss.item())


if __name__ == "__main__":
    main(torch.nn.Linear(8, 1), torch.load("batches.pt"))
