import os

import torch.distributed as dist


def start(args):
    if "WORLD_SIZE" in os.environ:
        args.rank, args.world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    else:
        args.rank = int(os.environ["SLURM_PROCID"])  # expect: DL511
    dist.init_process_group("nccl", rank=args.rank, world_size=args.world_size)
