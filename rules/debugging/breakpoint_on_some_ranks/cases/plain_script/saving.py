import torch
import torch.distributed as dist


def save_checkpoint(model, args):
    if args.rank == 0:
        torch.save(model.state_dict(), args.save)
    dist.barrier()
