import os

import torch.distributed as dist


def prepare(args):
    # CodeBERT c0de43d CodeExecutor/pretrain/run.py:355
    dist.init_process_group("nccl")
    args.local_rank += args.node * args.gpus
    if args.local_rank not in [-1, 0]:
        dist.barrier()
    if not os.path.exists(args.folder):
        os.makedirs(args.folder)
    if args.local_rank == 0:
        dist.barrier()
