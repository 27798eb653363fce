import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.utils import data

from pools import labeled_dataset, resnet


class Trainable:
    def __init__(self, name, n_proc, num_epochs=30, batch_size=64):
        self.name = name
        self.n_proc = n_proc
        self.num_epochs = num_epochs
        self.batch_size = batch_size
        self.model = resnet()

    def train(self, train_data, val_data):
        os.environ["MASTER_ADDR"] = "localhost"
        os.environ["MASTER_PORT"] = "8888"
        mp.spawn(self._do_train, args=(train_data, val_data), nprocs=self.n_proc)

    def _get_dataloader(self, dataset, sampler):
        return data.DataLoader(dataset, batch_size=self.batch_size, shuffle=False, sampler=sampler)

    def _do_train(self, rank, train_data, val_data):
        dist.init_process_group("nccl", rank=rank, world_size=self.n_proc)
        torch.cuda.set_device(rank)
        sampler = data.distributed.DistributedSampler(train_data, num_replicas=self.n_proc, rank=rank)
        loader = self._get_dataloader(train_data, sampler)
        self.model = nn.parallel.DistributedDataParallel(self.model.cuda(rank), device_ids=[rank])
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4)
        for epoch in range(self.num_epochs):
            sampler.set_epoch(epoch)
            self._train_epoch(rank, loader)

    def _train_epoch(self, rank, loader):
        self.model.train()
        for inputs, labels in loader:
            self.optimizer.zero_grad()
            loss = nn.functional.cross_entropy(self.model(inputs.cuda(rank)), labels.cuda(rank))
            loss.backward()
            self.optimizer.step()


if __name__ == "__main__":
    Trainable("finetune", n_proc=2).train(labeled_dataset("train"), labeled_dataset("val"))
