import argparse
import os  # CUDA_VISIBLE_DEVICES is left to the user

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from detr import DFine, coco_loader


def setup_distributed(args):
    dist.init_process_group(init_method="env://")
    rank = dist.get_rank()
    args.device = f"cuda:{os.environ['LOCAL_RANK']}"
    torch.cuda.set_device(args.device)
    return rank, dist.get_world_size()


def main(args):
    rank, world_size = setup_distributed(args)
    model = DFine().to(args.device)
    model = DistributedDataParallel(model, device_ids=[args.device])
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader, sampler = coco_loader(rank, world_size)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for images, targets in loader:
            loss = model(images.to(args.device), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", "--device", type=str, default=None, help="device")
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--epochs", type=int, default=72)
    args = parser.parse_args()
    main(args)
