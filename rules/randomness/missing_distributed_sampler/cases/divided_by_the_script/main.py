"""Starts the training."""

import torch.distributed as dist
from datasets import load_dataset

from fitting import Fitting


def main(net):
    dist.init_process_group("nccl")
    data = load_dataset("some", split="train")
    data = data.shard(
        num_shards=dist.get_world_size(),
        index=dist.get_rank(),
    )
    Fitting(data, net).fit(8)


if __name__ == "__main__":
    main(None)
