import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from tqdm import tqdm

from bgpt import bGPTLMHeadModel, ByteDataset

ACCUMULATION_STEPS = 1
NUM_EPOCHS = 32

world_size = int(os.environ["WORLD_SIZE"]) if "WORLD_SIZE" in os.environ else 1
global_rank = int(os.environ["RANK"]) if "RANK" in os.environ else 0
local_rank = int(os.environ["LOCAL_RANK"]) if "LOCAL_RANK" in os.environ else 0
if world_size > 1:
    torch.cuda.set_device(local_rank)
    dist.init_process_group(backend="nccl")
device = torch.device("cuda", local_rank)


def process_one_batch(batch, model):
    input_patches, input_masks = batch
    loss = model(input_patches.to(device), input_masks.to(device)).loss
    return loss.mean()


def train_epoch(model, optimizer, loader):
    model.train()
    total = 0.0
    for batch in tqdm(loader, disable=global_rank != 0):
        loss = process_one_batch(batch, model) / ACCUMULATION_STEPS
        loss.backward()
        total += loss.item()
        optimizer.step()
        model.zero_grad(set_to_none=True)
    mean = torch.tensor(total / len(loader), device=device)
    if world_size > 1:
        dist.all_reduce(mean)
        mean = mean / world_size
    return mean.item()


if __name__ == "__main__":
    net = bGPTLMHeadModel().to(device)
    if world_size > 1:
        net = DDP(net, device_ids=[local_rank])
    adam = torch.optim.AdamW(net.parameters(), lr=1e-4)
    dataset = ByteDataset("data")
    sampler = DistributedSampler(dataset, num_replicas=world_size, rank=global_rank)
    train_loader = DataLoader(dataset, batch_size=16, sampler=sampler)
    for epoch in range(NUM_EPOCHS):
        sampler.set_epoch(epoch)
        mean = train_epoch(net, adam, train_loader)
        if global_rank == 0:
            print(epoch, mean)
