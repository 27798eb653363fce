import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from ema import EMATracker
from ocean import Samudra, ocean_loader


class Trainer:
    def __init__(self, args):
        self.gpu = int(os.environ["LOCAL_RANK"])
        self.model = Samudra().to(self.gpu)
        self.ema = EMATracker(self.model, decay=0.999)
        self.model = DistributedDataParallel(self.model, device_ids=[self.gpu])
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.loader, self.sampler = ocean_loader()

    def run(self, epochs):
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for x, y in self.loader:
                loss = (self.model(x.to(self.gpu)) - y.to(self.gpu)).square().mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.ema.update(self.model)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--epochs", type=int, default=70)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    Trainer(args).run(args.epochs)


if __name__ == "__main__":
    main()
