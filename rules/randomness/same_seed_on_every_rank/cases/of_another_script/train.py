"""Trains what draws nothing: lightning-bolts 2c4602a src/pl_bolts/models/rl/dqn_model.py:435."""

import torch
import torch.distributed as dist
from nets import Plain
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader


def main():
    dist.init_process_group("nccl")
    torch.manual_seed(1)
    model = DDP(Plain(8))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for batch in DataLoader([]):
        model(batch).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    main()
