import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torchvision.models as models

from folders import make_loaders

parser = argparse.ArgumentParser(description="PyTorch ImageNet Training")
parser.add_argument("data")
parser.add_argument("--epochs", default=90, type=int)
parser.add_argument("--resume", default="", type=str)
parser.add_argument("--world-size", default=1, type=int)
parser.add_argument("--rank", default=0, type=int)
parser.add_argument("--dist-url", default="tcp://127.0.0.1:23456", type=str)
parser.add_argument("--gpu", default=None, type=int)
best_acc1 = 0


def main():
    args = parser.parse_args()
    ngpus_per_node = torch.cuda.device_count()
    args.world_size = ngpus_per_node * args.world_size
    mp.spawn(main_worker, nprocs=ngpus_per_node, args=(ngpus_per_node, args))


def main_worker(gpu, ngpus_per_node, args):
    global best_acc1
    args.gpu = gpu
    args.rank = args.rank * ngpus_per_node + gpu
    dist.init_process_group("nccl", init_method=args.dist_url, world_size=args.world_size, rank=args.rank)
    torch.cuda.set_device(args.gpu)
    model = nn.parallel.DistributedDataParallel(models.resnet18().cuda(args.gpu), device_ids=[args.gpu])
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    start_epoch = 0
    if args.resume:
        if os.path.isfile(args.resume):
            print(f"=> loading checkpoint '{args.resume}'")
            checkpoint = torch.load(args.resume)
            start_epoch = checkpoint["epoch"]
            best_acc1 = checkpoint["best_acc1"]
            model.load_state_dict(checkpoint["state_dict"])
            optimizer.load_state_dict(checkpoint["optimizer"])
        else:
            print(f"=> no checkpoint found at '{args.resume}'")
    loader, sampler = make_loaders(args.data)
    for epoch in range(start_epoch, args.epochs):
        sampler.set_epoch(epoch)
        for images, target in loader:
            loss = nn.functional.cross_entropy(model(images.cuda(args.gpu)), target.cuda(args.gpu))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if args.rank % ngpus_per_node == 0:
            state = {"epoch": epoch + 1, "state_dict": model.state_dict(), "best_acc1": best_acc1,
                     "optimizer": optimizer.state_dict()}
            torch.save(state, "checkpoint.pth.tar")


if __name__ == "__main__":
    main()
