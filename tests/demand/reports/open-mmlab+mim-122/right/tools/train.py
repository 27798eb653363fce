import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from restoration import Net, paired_loader


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("-opt", type=str, default="options/train.yml", help="Path to option YAML file.")
    parser.add_argument("--launcher", choices=["none", "pytorch", "slurm"], default="pytorch")
    parser.add_argument('--local-rank', '--local_rank', type=int, default=int(os.environ.get("LOCAL_RANK", 0)))
    return parser.parse_args()


def main():
    args = parse_options()
    torch.cuda.set_device(args.local_rank)
    dist.init_process_group("nccl")
    net = DistributedDataParallel(Net().cuda(), device_ids=[args.local_rank])
    optimizer = torch.optim.Adam(net.parameters())
    loader, sampler = paired_loader()
    for epoch in range(100):
        sampler.set_epoch(epoch)
        for lq, gt in loader:
            loss = (net(lq.cuda()) - gt.cuda()).abs().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
