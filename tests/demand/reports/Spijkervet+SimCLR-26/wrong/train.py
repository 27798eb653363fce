import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torchvision
from torch.nn.parallel import DistributedDataParallel as DDP

from simclr import NT_Xent, SimCLR, TransformsSimCLR


def train(args, train_loader, model, criterion, optimizer):
    loss_epoch = 0
    for (x_i, x_j), _ in train_loader:
        optimizer.zero_grad()
        z_i, z_j = model(x_i.cuda(non_blocking=True), x_j.cuda(non_blocking=True))
        loss = criterion(z_i, z_j)
        loss.backward()
        optimizer.step()
        loss_epoch += loss.item()
    return loss_epoch


def main(gpu, args):
    rank = args.nr * args.gpus + gpu
    if args.nodes > 1 or args.gpus > 1:
        dist.init_process_group("nccl", rank=rank, world_size=args.world_size)
        torch.cuda.set_device(gpu)
    torch.manual_seed(args.seed)
    train_dataset = torchvision.datasets.STL10("./datasets", split="unlabeled", transform=TransformsSimCLR(size=96))
    if args.world_size > 1:
        train_sampler = torch.utils.data.distributed.DistributedSampler(
            train_dataset, num_replicas=args.world_size, rank=rank, shuffle=True
        )
    else:
        train_sampler = None
    train_loader = torch.utils.data.DataLoader(
        train_dataset, batch_size=args.batch_size, shuffle=(train_sampler is None), drop_last=True, sampler=train_sampler
    )
    model = SimCLR().cuda(gpu)
    if args.world_size > 1:
        model = DDP(model, device_ids=[gpu])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    criterion = NT_Xent(args.batch_size, temperature=0.5, world_size=args.world_size)
    for epoch in range(args.start_epoch, args.epochs):
        loss_epoch = train(args, train_loader, model, criterion, optimizer)
        if args.nr == 0 and gpu == 0:
            print(f"Epoch [{epoch}/{args.epochs}]\t Loss: {loss_epoch / len(train_loader)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="SimCLR")
    parser.add_argument("--nodes", default=1, type=int)
    parser.add_argument("--gpus", default=2, type=int)
    parser.add_argument("--nr", default=0, type=int)
    parser.add_argument("--seed", default=42, type=int)
    parser.add_argument("--batch_size", default=128, type=int)
    parser.add_argument("--start_epoch", default=0, type=int)
    parser.add_argument("--epochs", default=100, type=int)
    args = parser.parse_args()
    args.world_size = args.gpus * args.nodes
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "8000"
    mp.spawn(main, args=(args,), nprocs=args.gpus, join=True)
