import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

from pointnext import PointNeXt, load_config, scan_loader


def main(gpu, cfg):
    cfg.rank = gpu
    dist.init_process_group("nccl", init_method=cfg.dist_url, world_size=cfg.world_size, rank=cfg.rank)
    torch.cuda.set_device(gpu)
    model = DistributedDataParallel(PointNeXt().cuda(), device_ids=[gpu])
    optimizer = torch.optim.AdamW(model.parameters())
    loader, sampler = scan_loader(cfg)
    for epoch in range(cfg.epochs):
        sampler.set_epoch(epoch)
        for points, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(points.cuda()), labels.cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser("S3DIS scene segmentation training")
    parser.add_argument("--cfg", type=str, required=True)
    args = parser.parse_args()
    cfg = load_config(args.cfg)
    cfg.world_size = torch.cuda.device_count()
    cfg.dist_url = "tcp://localhost:8888"
    if cfg.world_size > 1:
        print("using mp spawn for distributed training")
        mp.spawn(main, nprocs=cfg.world_size, args=(cfg,))
    else:
        main(0, cfg)
