# P-tuning-v2 PT-Retrieval/dpr/options.py:158: what the training shares with scripts of one process.
import torch
import torch.distributed as dist


def set_up(args):
    if args.local_rank != -1:
        torch.cuda.set_device(args.local_rank)
        dist.init_process_group("nccl")


def placed(model, local_rank):
    return model.to("cuda" if local_rank == -1 else local_rank)
