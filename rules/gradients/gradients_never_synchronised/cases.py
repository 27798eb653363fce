"""Cases of DL621: the data is shared out, and the gradients stay where they are."""

import os

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler

import own_parts
from own_models import Network

# --- bugs -----------------------------------------------------------------------------------------


def train_in_one_function(data, epochs):
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    model = torch.nn.Linear(8, 1).to(local_rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for batch in loader:
            loss = model(batch.to(local_rank)).mean()
            optimizer.zero_grad()
            loss.backward()  # expect: DL621
            optimizer.step()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), "model.pt")


def set_up(rank, world_size):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)


def make_loader(data, rank):
    sampler = RandomSampler(data) if rank == -1 else DistributedSampler(data)
    return DataLoader(data, batch_size=8, sampler=sampler)


def one_epoch(model, optimizer, loader):
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()  # expect: DL621
        optimizer.step()
        optimizer.zero_grad()


def main_with_parts(data, world_size):
    rank = int(os.environ.get("RANK", "-1"))
    set_up(rank, world_size)
    model = torch.nn.Linear(8, 1).cuda()
    if torch.cuda.device_count() > 1 and rank == -1:
        # the GPUs of one process
        model = torch.nn.DataParallel(model)
    one_epoch(model, torch.optim.AdamW(model.parameters()), make_loader(data, rank))
    dist.barrier()


class Run:
    def __init__(self, data):
        dist.init_process_group("nccl")
        self.model = torch.nn.Linear(8, 1).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.loader = DataLoader(data, sampler=DistributedSampler(data))

    def train(self):
        for batch in self.loader:
            loss = self.model(batch).mean()
            loss.backward()  # expect: DL621
            self.optimizer.step()
            self.optimizer.zero_grad()
        dist.barrier()


# --- right ----------------------------------------------------------------------------------------


def trained_on_all_of_the_data(model, data):
    # the replicas stay equal
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in DataLoader(data, batch_size=8):
        model(batch).mean().backward()
        optimizer.step()
    dist.barrier()


def handed_to_what_is_not_seen(data):
    model = torch.nn.Linear(8, 1).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    own_parts.spread(model)
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        model(batch).mean().backward()
        optimizer.step()
    dist.barrier()


def made_by_what_is_not_seen(data):
    model = own_parts.build(data)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        model(batch).mean().backward()
        optimizer.step()
    dist.barrier()


def stepped_by_what_is_not_seen(data):
    model = Network()
    optimizer = own_parts.Optimizer(model.parameters())
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        model(batch).mean().backward()
        optimizer.step()
    dist.barrier()


def gradient_of_the_input(model, data):
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        batch.requires_grad_()
        model(batch).mean().backward()
        yield batch.grad
    dist.barrier()


def validate(model, data):
    total = torch.zeros(())
    for batch in DataLoader(data, sampler=DistributedSampler(data, shuffle=False)):
        total += model(batch).mean().detach()
    dist.all_reduce(total)
    return total


def each_rank_its_own(models, data):
    # as many models as ranks, which is what it is for
    mine = models[dist.get_rank()]
    optimizer = torch.optim.SGD(mine.parameters(), lr=0.1)
    for batch in DataLoader(data, batch_size=8):
        mine(batch).mean().backward()
        optimizer.step()
    dist.barrier()
