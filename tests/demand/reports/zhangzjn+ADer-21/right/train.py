import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as NativeDDP
from torch.utils.data import DataLoader, DistributedSampler

from data import get_dataset
from nets import DeSTSeg


class BaseTrainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.dist = cfg.world_size > 1
        self.net = DeSTSeg(dest=True).cuda(cfg.local_rank)
        if self.dist:
            self.net = nn.SyncBatchNorm.convert_sync_batchnorm(self.net)
            self.net = NativeDDP(self.net, device_ids=[cfg.local_rank], find_unused_parameters=True)
        self.build_optimizers()
        dataset = get_dataset(cfg.root)
        self.sampler = DistributedSampler(dataset)
        self.loader = DataLoader(dataset, batch_size=cfg.batch, sampler=self.sampler)

    def build_optimizers(self):
        net = self.net.module if self.dist else self.net
        self.optim_de = torch.optim.SGD(net.destseg.student_net.parameters(), lr=self.cfg.lr)

    def train(self):
        for epoch in range(self.cfg.epochs):
            self.sampler.set_epoch(epoch)
            for imgs, masks in self.loader:
                loss = self.net(imgs.cuda(), masks.cuda())
                self.optim_de.zero_grad()
                loss.backward()
                self.optim_de.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="data/mvtec")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--lr", type=float, default=0.1)
    cfg = parser.parse_args()
    dist.init_process_group("nccl")
    cfg.world_size = dist.get_world_size()
    cfg.local_rank = dist.get_rank() % torch.cuda.device_count()
    torch.cuda.set_device(cfg.local_rank)
    BaseTrainer(cfg).train()


if __name__ == "__main__":
    main()
