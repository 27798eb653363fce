"""Gives each rank its shards."""

import torch.distributed as dist
import webdataset as wds
from torch.nn.parallel import DistributedDataParallel as DDP


def main(net, urls):
    dist.init_process_group("nccl")
    net = DDP(net)
    for batch in wds.WebDataset(urls, nodesplitter=wds.split_by_node).decode().batched(8):
        net(batch).mean().backward()


if __name__ == "__main__":
    main(None, "shards/{00..99}.tar")
