"""Goes through the shards with all ranks."""

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from webdataset import WebDataset


def main(net, urls):
    dist.init_process_group("nccl")
    net = DDP(net)
    samples = WebDataset(urls)  # expect: DL404
    for batch in samples.decode().batched(8):
        net(batch).mean().backward()


if __name__ == "__main__":
    main(None, "shards/{00..99}.tar")
