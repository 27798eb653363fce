import argparse
import os

import torch
from torch import distributed as dist
from torch import nn, optim
from torch.utils import data

from dataset import MultiResolutionDataset
from model import Discriminator, Generator, d_loss_of, g_loss_of


def data_sampler(dataset, shuffle, distributed):
    if distributed:
        return data.distributed.DistributedSampler(dataset, shuffle=shuffle)
    if shuffle:
        return data.RandomSampler(dataset)
    return data.SequentialSampler(dataset)


def sample_data(loader):
    while True:
        for batch in loader:
            yield batch


def train(args, loader, generator, discriminator, g_optim, d_optim, device):
    loader = sample_data(loader)
    for i in range(args.iter):
        real = next(loader).to(device)
        noise = torch.randn(args.batch, 512, device=device)
        d_optim.zero_grad()
        d_loss_of(discriminator(real), discriminator(generator(noise).detach())).backward()
        d_optim.step()
        g_optim.zero_grad()
        g_loss_of(discriminator(generator(noise))).backward()
        g_optim.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=str)
    parser.add_argument("--iter", type=int, default=800000)
    parser.add_argument("--batch", type=int, default=16)
    args = parser.parse_args()
    n_gpu = int(os.environ.get("WORLD_SIZE", 1))
    args.distributed = n_gpu > 1
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    if args.distributed:
        dist.init_process_group(backend="nccl", init_method="env://")
    generator, discriminator = Generator().to(device), Discriminator().to(device)
    if args.distributed:
        generator = nn.parallel.DistributedDataParallel(generator, device_ids=[local_rank], broadcast_buffers=False)
        discriminator = nn.parallel.DistributedDataParallel(discriminator, device_ids=[local_rank], broadcast_buffers=False)
    g_optim = optim.Adam(generator.parameters(), lr=0.002)
    d_optim = optim.Adam(discriminator.parameters(), lr=0.002)
    dataset = MultiResolutionDataset(args.path)
    loader = data.DataLoader(
        dataset,
        batch_size=args.batch,
        sampler=data_sampler(dataset, shuffle=True, distributed=args.distributed),
        drop_last=True,
    )
    train(args, loader, generator, discriminator, g_optim, d_optim, device)
