import argparse
import os

import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP


def work(rank, world_size, args):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    return DDP(args.model.to(rank), device_ids=[rank])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    args = parser.parse_args()
    world_size = int(os.environ.get("WORLD_SIZE", 1))
    mp.spawn(work, args=(world_size, args), nprocs=world_size)
