import os
import shutil

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def save(model, optimizer, epoch, folder):
    if dist.get_rank() == 0:
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
        path = os.path.join(folder, f"checkpoint_{epoch:04}.pt")
        torch.save(state, path)
        shutil.copyfile(path, folder + "/checkpoint.pt")


def main(args, model, optimizer):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    epoch = 0
    latest = os.path.join(args.folder, "checkpoint.pt")
    if os.path.isfile(latest):  # expect: DL309
        checkpoint = torch.load(latest)
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        epoch = checkpoint["epoch"]
    for each in range(epoch, args.epochs):
        train(model, optimizer)
        save(model, optimizer, each, args.folder)
