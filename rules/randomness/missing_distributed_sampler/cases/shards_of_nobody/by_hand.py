"""Goes through the shards with all ranks."""

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from webdataset import WebDataset


URLS = "shards/{00..99}.tar"


def main(net):
    dist.init_process_group("nccl")
    net = DDP(net)
    samples = WebDataset(URLS)  # expect: DL404
    for batch in samples.decode().batched(8):
        net(batch).mean().backward()


if __name__ == "__main__":
    main(None)
