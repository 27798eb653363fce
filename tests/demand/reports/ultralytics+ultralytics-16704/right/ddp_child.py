import argparse
import os

import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel

from yolo import DetectionModel, loader_for


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data")
    parser.add_argument("--project")
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        wandb.init(project=args.project, config=vars(args), job_type="ddp")
    model = DistributedDataParallel(DetectionModel().cuda(), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader, sampler = loader_for(args.data, dist.get_rank(), dist.get_world_size())
    for epoch in range(100):
        sampler.set_epoch(epoch)
        for images, targets in loader:
            loss = model(images.cuda(), targets.cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if dist.get_rank() == 0:
            wandb.log({"loss": loss.item(), "epoch": epoch})


if __name__ == "__main__":
    main()
