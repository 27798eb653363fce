import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from vos import XMem, davis_loader

local_rank = int(os.environ["LOCAL_RANK"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--exp_id", default="retrain")
    parser.add_argument("--stage", default="03")
    args = parser.parse_args()
    dist.init_process_group(backend="nccl")
    torch.cuda.set_device(local_rank)
    model = DistributedDataParallel(XMem().cuda(), device_ids=[local_rank])
    optimizer = torch.optim.AdamW(model.parameters())
    loader, sampler = davis_loader(args.stage)
    for epoch in range(100):
        sampler.set_epoch(epoch)
        for frames, masks in loader:
            loss = (model(frames.cuda()) - masks.cuda()).abs().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
