import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from cifar import loaders
from sam import SAM
from wide_res_net import WideResNet


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--rho", type=float, default=0.05)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    model = DDP(WideResNet(16, 8).cuda(), device_ids=[local_rank])
    optimizer = SAM(model.parameters(), torch.optim.SGD, rho=args.rho, lr=0.1, momentum=0.9)
    loader, sampler = loaders()
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for inputs, targets in loader:
            inputs, targets = inputs.cuda(), targets.cuda()
            loss = F.cross_entropy(model(inputs), targets, label_smoothing=0.1)
            with model.no_sync():
                loss.backward()
            optimizer.first_step(zero_grad=True)
            F.cross_entropy(model(inputs), targets, label_smoothing=0.1).backward()
            optimizer.second_step(zero_grad=True)


if __name__ == "__main__":
    main()
