"""Trains what draws."""

import torch
import torch.distributed as dist
from noisy import Noisy
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader


def main():
    dist.init_process_group("nccl")
    torch.manual_seed(1)  # expect: DL401
    model = DDP(Noisy(8))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for batch in DataLoader([]):
        model(batch).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    main()
