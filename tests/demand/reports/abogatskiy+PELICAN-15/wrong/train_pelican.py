import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from jets import dataloaders_for, PELICAN
from trainer import Trainer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num-epoch", type=int, default=35)
    parser.add_argument("--bestfile", default="model/best.pt")
    parser.add_argument("--lr", type=float, default=0.0025)
    args = parser.parse_args()
    args.distributed = int(os.environ.get("WORLD_SIZE", 1)) > 1
    device_id = -1
    if args.distributed:
        dist.init_process_group(backend="nccl")
        device_id = int(os.environ["LOCAL_RANK"])
    device = torch.device(f"cuda:{max(device_id, 0)}")
    torch.cuda.set_device(device)
    model = DDP(PELICAN().to(device), device_ids=[device_id])
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loss_fn = torch.nn.CrossEntropyLoss()
    Trainer(args, dataloaders_for(args), model, loss_fn, optimizer, device_id, device, torch.float).train()


if __name__ == "__main__":
    main()
