import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torchvision
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from data import train_set, val_set


def validate(model, loader, gpu):
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x.cuda(gpu)).argmax(1) == y.cuda(gpu)).sum().item()
    return correct / len(loader.dataset)


def train(gpu, args):
    dist.init_process_group("nccl", init_method="env://", world_size=args.gpus, rank=gpu)
    torch.manual_seed(0)
    torch.cuda.set_device(gpu)
    model = DDP(torchvision.models.resnet18().cuda(gpu), device_ids=[gpu])
    criterion = torch.nn.CrossEntropyLoss().cuda(gpu)
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    sampler = DistributedSampler(train_set(), num_replicas=args.gpus, rank=gpu)
    loader = DataLoader(train_set(), batch_size=100, sampler=sampler)
    val_loader = DataLoader(val_set(), batch_size=100)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            loss = criterion(model(x.cuda(gpu)), y.cuda(gpu))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if gpu == 0:
            accuracy = validate(model.module, val_loader, gpu)
            print(f"epoch {epoch}: {accuracy:.3f}")
        dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-g", "--gpus", default=2, type=int)
    parser.add_argument("--epochs", default=2, type=int)
    args = parser.parse_args()
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "12355"
    mp.spawn(train, nprocs=args.gpus, args=(args,))


if __name__ == "__main__":
    main()
