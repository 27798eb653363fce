"""Gives each rank folders of its own."""

import torch.distributed as dist
import webdataset as wds
from torch.nn.parallel import DistributedDataParallel as DDP


def train(net, folder):
    urls = f"{folder}/{{00..99}}.tar"
    for batch in wds.WebDataset(urls).decode().batched(8):
        net(batch).mean().backward()


def main(net):
    dist.init_process_group("nccl")
    net = DDP(net)
    for number in range(8):
        train(net, f"part{dist.get_rank() * 8 + number}")


if __name__ == "__main__":
    main(None)
