import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from text import batches, documents_of


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=32)
    return parser.parse_args()


def train_epoch(model, optimizer, shard, batch_size, device):
    model.train()
    for batch in shard:
        optimizer.zero_grad()
        loss = model(batch.to(device)).mean()
        loss.backward()
        optimizer.step()


def main():
    args = parse_args()
    dist.init_process_group("nccl")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    model = DDP(nn.TransformerEncoderLayer(512, 8).to(device), device_ids=[device.index])
    optimizer = torch.optim.Adam(model.parameters())
    documents = documents_of(args.corpus)
    mine = documents[rank::world_size]
    for epoch in range(args.epochs):
        shard = list(batches(mine, args.batch_size))
        train_epoch(model, optimizer, shard, args.batch_size, device)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
