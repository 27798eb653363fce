"""Ranks that each make one."""

import torch.distributed as dist
from curves import Curves
from torch.nn.parallel import DistributedDataParallel as DDP


def main(net, optimizer, batches):
    dist.init_process_group("nccl")
    curves = Curves("texts")
    net = DDP(net)
    for batch in batches:
        loss = net(batch).mean()
        loss.backward()
        optimizer.step()
        curves.add({"loss": loss.item()})


if __name__ == "__main__":
    main(None, None, [])
