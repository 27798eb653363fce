"""Gradients of models in DDP that are put into `.grad` by hand, by a function or a loop."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def put(gradients, parameters):
    for gradient, parameter in zip(gradients, parameters):
        parameter.grad = gradient


class Pair:
    """Two models, each stepped with gradients of the same graph."""

    def __init__(self, data, rank):
        dist.init_process_group("nccl")
        self.made = DistributedDataParallel(nn.Linear(8, 8), device_ids=[rank], broadcast_buffers=False)
        self.judge = DistributedDataParallel(nn.Linear(8, 1), device_ids=[rank])
        self.of_made = torch.optim.Adam(self.made.parameters())
        self.of_judge = torch.optim.Adam(self.judge.parameters())
        self.loader = DataLoader(data, sampler=DistributedSampler(data))

    def train(self):
        for batch in self.loader:
            loss = self.judge(self.made(batch)).mean()
            put(
                torch.autograd.grad(loss, self.judge.parameters(), retain_graph=True),  # expect: DL621
                self.judge.parameters(),
            )
            self.of_judge.step()
            put(torch.autograd.grad(-loss, self.made.parameters()), self.made.parameters())
            self.of_made.step()


def in_a_loop(data, rank):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(nn.Linear(8, 1), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        parameters = list(model.parameters())
        gradients = torch.autograd.grad(model(batch).mean(), parameters)  # expect: DL621
        halved = [g / 2 for g in gradients]
        for parameter, gradient in zip(parameters, halved):
            parameter.grad = gradient
        optimizer.step()


if __name__ == "__main__":
    Pair(list(range(8)), 0).train()
    in_a_loop(list(range(8)), 0)
