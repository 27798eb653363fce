import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from weather import Forecaster, sample_loader


class Trainer:
    def __init__(self, args):
        self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(self.device)
        self.model = DistributedDataParallel(Forecaster().to(self.device), device_ids=[self.device.index])
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.loader = sample_loader(args, dist.get_rank(), dist.get_world_size())

    def skip_step(self, loss):
        skip = torch.zeros(1, device=self.device)
        if dist.get_rank() == 0 and not torch.isfinite(loss):
            skip.fill_(1)
        dist.broadcast(skip, src=0)
        return bool(skip.item())

    def train(self):
        for source, target in self.loader:
            loss = torch.nn.functional.mse_loss(self.model(source.to(self.device)), target.to(self.device))
            if self.skip_step(loss):
                continue
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-4)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    Trainer(args).train()


if __name__ == "__main__":
    main()
