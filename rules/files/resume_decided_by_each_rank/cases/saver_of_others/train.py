import os
import sys

import saving
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main(args, model, optimizer):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    print(saving.ranks())
    epoch = 0
    latest = os.path.join(args.folder, "checkpoint.pt")
    if os.path.isfile(latest):
        checkpoint = torch.load(latest)
        model.load_state_dict(checkpoint["model"])
        epoch = checkpoint["epoch"]
    for epoch in range(epoch, args.epochs):
        state = {"model": model.state_dict(), "epoch": epoch}
        torch.save(state, latest)


if __name__ == "__main__":
    main(*read(sys.argv))
