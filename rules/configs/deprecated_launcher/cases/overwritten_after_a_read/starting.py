import torch
import torch.distributed as dist


def join(args):
    torch.cuda.set_device(args.local_rank)
    dist.init_process_group("nccl")
