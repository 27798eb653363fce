import torch.distributed as dist


def start(args):
    dist.init_process_group("nccl")
    print(args)
