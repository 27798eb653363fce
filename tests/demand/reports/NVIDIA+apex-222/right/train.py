import argparse

import torch
import torch.distributed as dist
from apex import amp
from apex.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets, models, transforms


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--resume", default="")
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--opt-level", default="O1")
    parser.add_argument("--local_rank", "--local-rank", default=0, type=int)
    args = parser.parse_args()
    torch.cuda.set_device(args.local_rank)
    dist.init_process_group(backend="nccl", init_method="env://")
    model = models.resnet50().cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model, optimizer = amp.initialize(model, optimizer, opt_level=args.opt_level)
    model = DDP(model, delay_allreduce=True)
    start = 0
    if args.resume:
        checkpoint = torch.load(args.resume, map_location="cpu")
        start = checkpoint["epoch"]
        model.load_state_dict(checkpoint["state_dict"])
        optimizer.load_state_dict(checkpoint["optimizer"])
    data = datasets.ImageFolder(args.data, transforms.ToTensor())
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=256, sampler=sampler)
    for epoch in range(start, args.epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
            optimizer.zero_grad()
            with amp.scale_loss(loss, optimizer) as scaled_loss:
                scaled_loss.backward()
            optimizer.step()
        if args.local_rank == 0:
            torch.save({"epoch": epoch + 1, "state_dict": model.state_dict(), "optimizer": optimizer.state_dict()}, "checkpoint.pth.tar")


if __name__ == "__main__":
    main()
