import os

import torch.distributed as dist


def start(args):
    args.gpu = int(os.environ["LOCAL_RANK"])
    dist.init_process_group("nccl")
