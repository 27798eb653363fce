import argparse

import torch
import torch.distributed as dist
import yaml
from torch.nn.parallel import DistributedDataParallel as DDP

from models.yolo import Model
from utils.datasets import create_dataloader
from utils.loss import compute_loss


def train(hyp, opt, device):
    model = Model(opt.cfg, nc=80).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=hyp["lr0"], momentum=hyp["momentum"])

    if device.type != "cpu" and opt.local_rank != -1:
        model = DDP(model, device_ids=[opt.local_rank], output_device=opt.local_rank)

    dataloader, dataset = create_dataloader(opt.data, opt.batch_size, rank=opt.local_rank)
    nl = model.model[-1].nl
    hyp["obj"] *= 3 / nl

    for epoch in range(opt.epochs):
        if opt.local_rank != -1:
            dataloader.sampler.set_epoch(epoch)
        for imgs, targets in dataloader:
            loss = compute_loss(model(imgs.to(device)), targets.to(device), hyp)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cfg", default="models/yolov5s.yaml")
    parser.add_argument("--data", default="data/coco128.yaml")
    parser.add_argument("--epochs", type=int, default=300)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--local_rank", "--local-rank", type=int, default=-1)
    opt = parser.parse_args()
    with open("data/hyp.yaml") as f:
        hyp = yaml.safe_load(f)
    device = torch.device("cpu")
    if opt.local_rank != -1:
        torch.cuda.set_device(opt.local_rank)
        device = torch.device("cuda", opt.local_rank)
        dist.init_process_group(backend="nccl", init_method="env://")
    train(hyp, opt, device)
