import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

from training import train_and_valid
from mlpf import MLPF
from mlpf_data import get_loaders


def run(rank, world_size, args):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "12355"
    if world_size > 1:
        dist.init_process_group("nccl", rank=rank, world_size=world_size)
    torch.cuda.set_device(rank)
    model = MLPF(width=512).to(rank)
    if world_size > 1:
        model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
        model = DistributedDataParallel(model, device_ids=[rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loaders = get_loaders(args, world_size, rank)
    for epoch in range(args.num_epochs):
        loaders["train"].sampler.set_epoch(epoch)
        train_and_valid(rank, world_size, model, optimizer, loaders)
    if world_size > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--num-epochs", type=int, default=3)
    args = parser.parse_args()
    mp.spawn(run, args=(args.gpus, args), nprocs=args.gpus)
