import argparse
import random

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from data import build_dataset, build_dataloader
from models import build_model
from utils import distributed_utils


def parse_args():
    parser = argparse.ArgumentParser(description="YOLO Detection")
    parser.add_argument("-ms", "--multi_scale", action="store_true", default=False)
    parser.add_argument("--img_size", default=640, type=int)
    parser.add_argument("--max_epoch", default=200, type=int)
    parser.add_argument("-dist", "--distributed", action="store_true", default=False)
    return parser.parse_args()


def train():
    args = parse_args()
    if args.distributed:
        distributed_utils.init_distributed_mode(args)
    device = torch.device("cuda")
    dataset = build_dataset(args)
    dataloader = build_dataloader(args, dataset)
    model = build_model(args).to(device).train()
    if args.distributed:
        model = DDP(model, device_ids=[args.gpu])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    train_size = args.img_size
    for epoch in range(args.max_epoch):
        if args.distributed:
            dataloader.batch_sampler.sampler.set_epoch(epoch)
        for iter_i, (images, targets) in enumerate(dataloader):
            if iter_i % 10 == 0 and args.multi_scale:
                train_size = random.randrange(10, 20) * 32
                (model.module if args.distributed else model).set_grid(train_size)
            images = torch.nn.functional.interpolate(images, size=train_size)
            loss = model(images.to(device), targets)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    train()
