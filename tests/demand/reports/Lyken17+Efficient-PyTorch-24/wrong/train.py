import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torchvision.models as models
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets, transforms


class AverageMeter:
    def __init__(self):
        self.sum = self.count = 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


def accuracy(output, target):
    return (output.argmax(1) == target).float().mean() * 100


def validate(loader, model, device):
    top1 = AverageMeter()
    model.eval()
    with torch.no_grad():
        for images, target in loader:
            acc1 = accuracy(model(images.to(device)), target.to(device))
            top1.update(acc1.item(), images.size(0))
    print(f"* Acc@1 {top1.avg:.3f}")
    return top1.avg


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--epochs", type=int, default=90)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    model = nn.parallel.DistributedDataParallel(models.resnet18().to(device), device_ids=[device.index])
    train_set = datasets.ImageFolder(os.path.join(args.data, "train"), transforms.ToTensor())
    val_set = datasets.ImageFolder(os.path.join(args.data, "val"), transforms.ToTensor())
    sampler = DistributedSampler(train_set)
    loader = DataLoader(train_set, 64, sampler=sampler)
    val_loader = DataLoader(val_set, 64, sampler=DistributedSampler(val_set, shuffle=False))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    best_acc1 = 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for images, target in loader:
            loss = nn.functional.cross_entropy(model(images.to(device)), target.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        acc1 = validate(val_loader, model, device)
        is_best = acc1 > best_acc1
        best_acc1 = max(acc1, best_acc1)
        if dist.get_rank() == 0 and is_best:
            torch.save({"state_dict": model.module.state_dict(), "best_acc1": best_acc1}, "model_best.pth")


if __name__ == "__main__":
    main()
