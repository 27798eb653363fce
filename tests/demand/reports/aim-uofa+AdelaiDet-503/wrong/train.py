import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from instances import SOLOv2, coco_loader


def build_model(device):
    model = nn.SyncBatchNorm.convert_sync_batchnorm(SOLOv2()).to(device)
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        model = DistributedDataParallel(model, device_ids=[device.index])
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=36)
    args = parser.parse_args()
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        dist.init_process_group("nccl")
    model = build_model(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(args.epochs):
        for images, targets in coco_loader(epoch):
            loss = model(images.to(device), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
