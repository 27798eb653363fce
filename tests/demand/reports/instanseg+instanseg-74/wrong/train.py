import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from segnet import InstanSeg, cells


def save_model(model, path, epoch):
    torch.save({"model_state_dict": model.state_dict(), "epoch": epoch}, os.path.join(path, "model_weights.pth"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", default="models/run")
    parser.add_argument("--epochs", type=int, default=500)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    model = DDP(InstanSeg().cuda(), device_ids=[local_rank])
    optimizer = torch.optim.Adam(model.parameters())
    loader, sampler = cells(dist.get_rank(), dist.get_world_size())
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for image, label in loader:
            loss = (model(image.cuda()) - label.cuda()).abs().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if dist.get_rank() == 0:
            save_model(model, args.output, epoch)


if __name__ == "__main__":
    main()
