import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def save(model, optimizer, epoch, folder):
    if dist.get_rank() == 0:
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
        torch.save(state, "{}/checkpoint_{}.pt".format(folder, epoch))
        best = f"best_{epoch}.pt" if epoch else "best.pt"
        torch.save(state["model"], os.path.join(folder, best))


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
    for each in range(epoch, args.epochs):
        train(model, optimizer)
        save(model, optimizer, each, args.folder)
