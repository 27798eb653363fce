import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main(config, model, optimizer):
    dist.init_process_group("nccl")
    network = DistributedDataParallel(model)
    latest, first = os.path.join(config.out, "latest.pt"), os.path.join(config.out, "first.pt")
    start = 0
    if os.path.exists(latest):  # expect: DL309
        state = torch.load(latest)
        optimizer.load_state_dict(state["optimizer"])
        start = state["epoch"]
    else:
        if dist.get_rank() == 0:
            torch.save(model.state_dict(), first)
        dist.barrier()
        if os.path.exists(first):
            model.load_state_dict(torch.load(first))
    for epoch in range(start, config.epochs):
        train(network, optimizer)
        if dist.get_rank() == 0:
            torch.save({"optimizer": optimizer.state_dict(), "epoch": epoch}, latest)


if __name__ == "__main__":
    main(*read())
