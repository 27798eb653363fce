"""Makes the group, and leaves the curves to rank 0."""

import torch.distributed as dist


def start(args):
    dist.init_process_group("nccl")
    args.rank = args.local_rank = dist.get_rank()
    if args.rank > 0:
        args.curves = False
