"""A function that seeds the workers of a rank, and that the rank calls for its own process as well."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


class Denoiser(nn.Module):
    def forward(self, images):
        noise = torch.randn_like(images)
        return (self.net(images + noise) - noise).square().mean()


def start_worker(number):
    torch.manual_seed(100 * dist.get_rank() + number)


def train(args, data, optimizer):
    dist.init_process_group("nccl")
    torch.manual_seed(args.seed)
    loader = DataLoader(data, num_workers=4, worker_init_fn=start_worker)
    model = DistributedDataParallel(Denoiser())
    start_worker(99)
    for batch in loader:
        model(batch).backward()
        optimizer.step()


if __name__ == "__main__":
    train(None, None, None)
