import os

import torch.distributed as dist


def prepare(args):
    dist.init_process_group("nccl")
    args.local_rank += args.node * args.gpus
    if args.local_rank not in [-1, 0]:
        print("wait for the first")
    if not os.path.exists(args.folder):
        os.makedirs(args.folder)  # expect: DL305
    if args.local_rank == 0:
        dist.barrier()
