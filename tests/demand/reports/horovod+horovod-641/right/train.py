import argparse

import horovod.torch as hvd
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets, models, transforms


def metric_average(value, name):
    return hvd.allreduce(value, name=name)


def train(epoch, model, optimizer, loader, sampler):
    model.train()
    sampler.set_epoch(epoch)
    running_loss = 0.0
    for data, target in loader:
        data, target = data.cuda(), target.cuda()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
        running_loss += metric_average(loss.detach(), "loss").item()
    if hvd.rank() == 0:
        print(f"epoch {epoch}: {running_loss / len(loader):.4f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train-dir", default="imagenet/train")
    parser.add_argument("--epochs", type=int, default=90)
    args = parser.parse_args()
    hvd.init()
    torch.cuda.set_device(hvd.local_rank())
    dataset = datasets.ImageFolder(args.train_dir, transforms.ToTensor())
    sampler = DistributedSampler(dataset, num_replicas=hvd.size(), rank=hvd.rank())
    loader = DataLoader(dataset, batch_size=32, sampler=sampler)
    model = models.resnet50().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0125 * hvd.size())
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    for epoch in range(args.epochs):
        train(epoch, model, optimizer, loader, sampler)


if __name__ == "__main__":
    main()
