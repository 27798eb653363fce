# EfficientDet.Pytorch fbe56e5 train.py:221 and 285: where the loaded file lies says nothing of what it holds
import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel


def work(gpu, args):
    args.gpu = gpu
    dist.init_process_group("nccl", rank=gpu, world_size=args.gpus)
    if args.resume:
        place = "cuda:{}".format(args.gpu)
        before = torch.load(args.resume, map_location=place)
        args.network = before["network"]
    model = DistributedDataParallel(torch.nn.Linear(4, 4).to(gpu), device_ids=[gpu])
    for epoch in range(args.epochs):
        model(torch.ones(2, 4)).sum().backward()
        torch.save(model.module.state_dict(), os.path.join(args.folder, args.network, f"{epoch}.pt"))  # expect: DL301


def work_apart(gpu, args):
    args.gpu = gpu
    dist.init_process_group("nccl", rank=gpu, world_size=args.gpus)
    args.network = torch.load("cuda:{}.pt".format(args.gpu), map_location="cpu")["network"]
    model = DistributedDataParallel(torch.nn.Linear(4, 4).to(gpu), device_ids=[gpu])
    for epoch in range(args.epochs):
        model(torch.ones(2, 4)).sum().backward()
        torch.save(model.module.state_dict(), os.path.join(args.folder, args.network, f"{epoch}.pt"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume")
    parser.add_argument("--folder", default="out")
    parser.add_argument("--network", default="small")
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--apart", action="store_true")
    args = parser.parse_args()
    if args.apart:
        mp.spawn(work_apart, nprocs=args.gpus, args=(args,))
    else:
        mp.spawn(work, nprocs=args.gpus, args=(args,))
