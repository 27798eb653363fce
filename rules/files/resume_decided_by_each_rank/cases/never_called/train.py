import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def keep_results(results, folder):
    if dist.get_rank() == 0:
        torch.save(results, os.path.join(folder, "checkpoint.pt"))


def main(args, model, optimizer):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    epoch = 0
    latest = os.path.join(args.folder, "checkpoint.pt")
    if os.path.isfile(latest):
        checkpoint = torch.load(latest)
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        epoch = checkpoint["epoch"]
    for _ in range(epoch, args.epochs):
        train(model, optimizer)


if __name__ == "__main__":
    main(*read(sys.argv))
