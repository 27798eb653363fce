import torch.distributed as dist


def set_up(rank, world_size):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


def set_up_by(options):
    dist.init_process_group("gloo", rank=options.rank, world_size=options.world_size)
