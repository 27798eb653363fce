import argparse
import os
import random
import time

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from video import CausalWan, TextDataset, dmd_loss


def launch():
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    return local_rank


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


class Trainer:
    def __init__(self, args):
        self.args = args
        self.local_rank = launch()
        seed = int(time.time()) * (dist.get_rank() + 1)
        set_seed(seed)
        self.model = DistributedDataParallel(CausalWan().cuda(), device_ids=[self.local_rank])
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        dataset = TextDataset(args.data)
        self.sampler = torch.utils.data.distributed.DistributedSampler(dataset, shuffle=True, seed=self.args.seed, drop_last=True)
        self.loader = DataLoader(dataset, batch_size=1, sampler=self.sampler)

    def train(self):
        for epoch in range(self.args.epochs):
            self.sampler.set_epoch(epoch)
            for prompts in self.loader:
                loss = dmd_loss(self.model, prompts)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="prompts.txt")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-5)
    parser.add_argument("--epochs", type=int, default=10)
    Trainer(parser.parse_args()).train()


if __name__ == "__main__":
    main()
