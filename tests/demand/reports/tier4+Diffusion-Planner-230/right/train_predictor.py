import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from planner import Diffusion_Planner, planner_data
from utils import save_model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--save_dir", default="log")
    parser.add_argument("--ddp", action="store_true")
    parser.add_argument("--train_epochs", type=int, default=500)
    args = parser.parse_args()
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    global_rank = int(os.environ.get("RANK", 0))
    torch.cuda.set_device(local_rank)
    model = Diffusion_Planner().cuda()
    if args.ddp:
        dist.init_process_group("nccl")
        model = DistributedDataParallel(model, device_ids=[local_rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    loader = planner_data(args)
    for epoch in range(args.train_epochs):
        if args.ddp:
            loader.sampler.set_epoch(epoch)
        for inputs, target in loader:
            loss = (model(inputs) - target).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if global_rank == 0:
            save_model(model.module if args.ddp else model, optimizer, epoch, args.save_dir)


if __name__ == "__main__":
    main()
