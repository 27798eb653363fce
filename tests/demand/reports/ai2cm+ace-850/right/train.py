import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from fme.data import get_data_loader
from fme.model import SphericalNet


class Stepper:
    def __init__(self, module, lr):
        self.module = module
        self.optimizer = torch.optim.Adam(module.parameters(), lr=lr)

    def train_on_batch(self, batch):
        self.optimizer.zero_grad()
        prediction = self.module(batch["input"])
        loss = torch.nn.functional.mse_loss(prediction, batch["target"])
        bad = torch.isnan(loss).int()
        dist.all_reduce(bad, op=dist.ReduceOp.MAX)
        if bad.item():
            raise RuntimeError("Loss is NaN-valued during training.")
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def train(config):
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    net = SphericalNet().to(local_rank)
    stepper = Stepper(DistributedDataParallel(net, device_ids=[local_rank]), config.lr)
    loader, sampler = get_data_loader(config, dist.get_world_size(), dist.get_rank())
    for epoch in range(config.epochs):
        sampler.set_epoch(epoch)
        for batch in loader:
            stepper.train_on_batch({k: v.to(local_rank) for k, v in batch.items()})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--epochs", type=int, default=30)
    train(parser.parse_args())
