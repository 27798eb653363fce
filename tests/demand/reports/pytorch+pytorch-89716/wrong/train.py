import os
import sys

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.bn = nn.BatchNorm1d(10)
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.bn(self.net1(x)).relu())


def setup():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    return dist.get_rank(), local_rank


def main(steps):
    rank, local_rank = setup()
    ddp_model = DDP(ToyModel().to(local_rank), device_ids=[local_rank])
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.SGD(ddp_model.parameters(), lr=0.001)
    for step in range(steps):
        x = torch.randn(20, 10, device=local_rank)
        labels = torch.randn(20, 5, device=local_rank)
        if rank == 0:
            outputs = ddp_model(x)
            print(f"rank 0, step {step}: {outputs.mean().item()}")
        optimizer.zero_grad()
        loss_fn(ddp_model(x), labels).backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]))
