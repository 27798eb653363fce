import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from pointcloud import ShapeNet, SpareNet, chamfer


class Runner:
    def __init__(self, args):
        self.args = args
        self.gpu = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(self.gpu)
        self.model = DistributedDataParallel(SpareNet().cuda(), device_ids=[self.gpu])
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        data = ShapeNet(args.root)
        self.sampler = DistributedSampler(data)
        self.loader = DataLoader(data, batch_size=args.batch, sampler=self.sampler)
        self.losses = {"coarse": 0.0, "fine": 0.0}

    def step(self, partial, gt):
        coarse, fine = self.model(partial.cuda())
        coarse_loss, fine_loss = chamfer(coarse, gt.cuda()), chamfer(fine, gt.cuda())
        self.optimizer.zero_grad()
        (coarse_loss + fine_loss).backward()
        self.optimizer.step()
        self.losses["coarse"] += coarse_loss.item()
        self.losses["fine"] += fine_loss.item()

    def run(self):
        for epoch in range(self.args.epochs):
            self.sampler.set_epoch(epoch)
            for partial, gt in self.loader:
                self.step(partial, gt)
            if dist.get_rank() == 0:
                print(epoch, {k: float(v) for k, v in self.losses.items()})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="shapenet")
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=150)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    Runner(args).run()
